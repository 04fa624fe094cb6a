# What the module promises, without an account: plans and applies against a provider that is mocked. What only AWS can
# say (that it takes the policies, and refuses what they refuse) is listed in README.md.

mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "111122223333" }
  }

  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }

  mock_resource "aws_kms_key" {
    defaults = {
      arn    = "arn:aws:kms:eu-central-1:111122223333:key/0000"
      key_id = "0000"
    }
  }
}

variables {
  name                  = "acme-gatehouse"
  break_glass_role_arns = ["arn:aws:iam::111122223333:role/break-glass"]
  accept_locked_days    = 400
}

run "both_buckets_are_locked_under_compliance_by_default" {
  assert {
    condition     = toset(keys(aws_s3_bucket.this)) == toset(["log", "payload"])
    error_message = "there are two buckets"
  }

  assert {
    condition     = alltrue([for bucket in aws_s3_bucket.this : bucket.object_lock_enabled && !bucket.force_destroy])
    error_message = "both are made for locks, and survive destroy"
  }

  assert {
    condition     = aws_s3_bucket_object_lock_configuration.this["log"].rule[0].default_retention[0].days == 400
    error_message = "the log is locked for 400 days"
  }

  assert {
    condition     = aws_s3_bucket_object_lock_configuration.this["payload"].rule[0].default_retention[0].days == 90
    error_message = "bodies are locked for less"
  }

  assert {
    condition = alltrue([
      for lock in aws_s3_bucket_object_lock_configuration.this : lock.rule[0].default_retention[0].mode == "COMPLIANCE"
    ])
    error_message = "under COMPLIANCE"
  }

  assert {
    condition = alltrue([
      for versioning in aws_s3_bucket_versioning.this : versioning.versioning_configuration[0].status == "Enabled"
    ])
    error_message = "with versions"
  }
}

run "nothing_is_public_and_all_is_encrypted_with_rotating_keys" {
  assert {
    condition = alltrue([
      for block in aws_s3_bucket_public_access_block.this :
      block.block_public_acls && block.block_public_policy && block.ignore_public_acls && block.restrict_public_buckets
    ]) && length(aws_s3_bucket_public_access_block.this) == 2
    error_message = "public access is blocked in all four ways"
  }

  assert {
    condition = alltrue([
      for controls in aws_s3_bucket_ownership_controls.this : controls.rule[0].object_ownership == "BucketOwnerEnforced"
    ]) && length(aws_s3_bucket_ownership_controls.this) == 2
    error_message = "there are no ACLs"
  }

  assert {
    condition = alltrue([
      for sse in values(aws_s3_bucket_server_side_encryption_configuration.this)[*].rule :
      one(sse).apply_server_side_encryption_by_default[0].sse_algorithm == "aws:kms" && one(sse).bucket_key_enabled
    ])
    error_message = "KMS encrypts"
  }

  assert {
    condition     = alltrue([for key in aws_kms_key.this : key.enable_key_rotation && key.deletion_window_in_days == 30])
    error_message = "keys rotate, and can be saved for 30 days"
  }

  assert {
    condition = anytrue([
      for statement in jsondecode(aws_kms_key.this["log"].policy).Statement :
      statement.Effect == "Deny" && contains(flatten([statement.Action]), "kms:ScheduleKeyDeletion") &&
      try(statement.Condition.ArnNotEquals["aws:PrincipalArn"], []) == ["arn:aws:iam::111122223333:role/break-glass"]
    ])
    error_message = "only break-glass removes a key"
  }
}

run "the_bucket_policies_deny_what_would_weaken_the_log" {
  assert {
    condition = alltrue([
      for policy in aws_s3_bucket_policy.this : alltrue([
        for statement in jsondecode(policy.policy).Statement : statement.Effect == "Deny" && statement.Principal == "*"
      ])
    ]) && length(aws_s3_bucket_policy.this) == 2
    error_message = "they deny to all, and allow nothing"
  }

  assert {
    condition = alltrue([
      for policy in aws_s3_bucket_policy.this :
      { for statement in jsondecode(policy.policy).Statement : statement.Sid => statement }["TlsOnly"].Condition == { Bool = { "aws:SecureTransport" = "false" } }
    ])
    error_message = "TLS only"
  }

  assert {
    condition = alltrue([
      for policy in aws_s3_bucket_policy.this : { for statement in jsondecode(policy.policy).Statement : statement.Sid => statement }["CreateOnly"].Condition == {
        Null = { "s3:if-none-match" = "true" }
        Bool = { "s3:ObjectCreationOperation" = "true" }
      }
    ])
    error_message = "a put without If-None-Match is denied"
  }

  assert {
    condition = {
      for key, policy in aws_s3_bucket_policy.this :
      key => { for statement in jsondecode(policy.policy).Statement : statement.Sid => statement }["NoShorterLock"].Condition
      } == {
      log     = { NumericLessThan = { "s3:object-lock-remaining-retention-days" = "399" } }
      payload = { NumericLessThan = { "s3:object-lock-remaining-retention-days" = "89" } }
    }
    error_message = "no lock is shorter than the bucket's"
  }

  assert {
    condition = alltrue([
      for policy in aws_s3_bucket_policy.this :
      contains({ for statement in jsondecode(policy.policy).Statement : statement.Sid => statement }["NoShorterLock"].Action, "s3:PutObjectRetention")
    ])
    error_message = "nor made shorter afterwards"
  }

  assert {
    condition = alltrue([
      for policy in aws_s3_bucket_policy.this : { for statement in jsondecode(policy.policy).Statement : statement.Sid => statement }["NoOtherMode"].Condition == {
        Null            = { "s3:object-lock-mode" = "false" }
        StringNotEquals = { "s3:object-lock-mode" = "COMPLIANCE" }
      }
    ])
    error_message = "no lock is of the weaker mode"
  }

  assert {
    condition = length(setsubtract(
      [
        "s3:BypassGovernanceRetention", "s3:DeleteObject", "s3:DeleteObjectVersion", "s3:DeleteBucketPolicy",
        "s3:PutBucketObjectLockConfiguration", "s3:PutBucketPolicy", "s3:PutBucketPublicAccessBlock",
        "s3:PutBucketVersioning", "s3:PutLifecycleConfiguration",
      ],
      flatten([
        for statement in jsondecode(aws_s3_bucket_policy.this["log"].policy).Statement : statement.Action
        if try(statement.Condition.ArnNotEquals["aws:PrincipalArn"], []) == ["arn:aws:iam::111122223333:role/break-glass"]
      ])
    )) == 0
    error_message = "only break-glass deletes and reconfigures"
  }

  assert {
    condition     = strcontains(aws_s3_bucket_policy.this["log"].policy, "arn:aws:s3:::acme-gatehouse-log/*")
    error_message = "they name their own bucket"
  }
}

run "lifecycle_removes_bodies_after_their_lock_and_log_objects_never" {
  assert {
    condition = [
      for rule in aws_s3_bucket_lifecycle_configuration.this["log"].rule : rule.id
    ] == ["unfinished-uploads"] && length(aws_s3_bucket_lifecycle_configuration.this["log"].rule[0].expiration) == 0
    error_message = "nothing of the log expires"
  }

  assert {
    condition     = aws_s3_bucket_lifecycle_configuration.this["payload"].rule[1].expiration[0].days == 120
    error_message = "bodies expire after their lock"
  }
}

run "the_roles_get_no_more_than_they_need" {
  assert {
    condition     = !can(regex("Delete|Bypass|kms:\\*|s3:\\*|PutBucket|LegalHold", output.writer_policy))
    error_message = "the writer deletes and configures nothing"
  }

  assert {
    condition = alltrue([for action in [
      "s3:PutObject", "s3:PutObjectRetention", "s3:GetObject", "s3:GetObjectVersion", "s3:GetObjectRetention",
      "s3:ListBucketVersions", "s3:GetBucketVersioning", "s3:GetBucketObjectLockConfiguration",
      "kms:GenerateDataKey", "kms:Decrypt",
    ] : strcontains(output.writer_policy, "\"${action}\"")])
    error_message = "the writer looks at the bucket before it starts, and at each object after it was put"
  }

  assert {
    condition     = output.retention_days == 400
    error_message = "the gateway locks for as long as the bucket does"
  }

  assert {
    condition     = !can(regex("s3:Put|s3:Delete|GenerateDataKey|-payload", output.auditor_policy))
    error_message = "the auditor writes nothing and sees no bodies"
  }

  assert {
    condition     = can(regex("-payload/\\*", output.payload_auditor_policy)) && !can(regex("s3:Put|s3:Delete|GenerateDataKey|-log", output.payload_auditor_policy))
    error_message = "who opens bodies writes nothing and needs another policy for the log"
  }

  assert {
    condition     = output.buckets == { log = "acme-gatehouse-log", payload = "acme-gatehouse-payload" }
    error_message = "the gateway's configuration needs the names"
  }
}

run "compliance_is_refused_until_its_days_are_accepted" {
  command = plan

  variables {
    accept_locked_days = 0
  }

  expect_failures = [aws_s3_bucket.this]
}

run "accepting_other_days_is_not_accepting_these" {
  command = plan

  variables {
    accept_locked_days = 400
    log_lock           = { days = 4000 }
    longest_lock_days  = 5000
  }

  expect_failures = [aws_s3_bucket.this]
}

run "a_trial_needs_no_acceptance_and_can_be_destroyed" {
  command = plan

  variables {
    accept_locked_days = 0
    destroyable        = true
    log_lock           = { mode = "GOVERNANCE", days = 1 }
    payload_lock       = { mode = "GOVERNANCE", days = 1 }
  }

  assert {
    condition     = alltrue([for bucket in aws_s3_bucket.this : bucket.force_destroy])
    error_message = "destroy empties the buckets"
  }
}

run "nothing_under_compliance_can_be_destroyable" {
  command = plan

  variables {
    destroyable  = true
    payload_lock = { mode = "GOVERNANCE", days = 1 }
  }

  expect_failures = [var.destroyable]
}

run "a_short_compliance_lock_on_the_log_is_a_mistake" {
  command = plan

  variables {
    log_lock           = { days = 7 }
    payload_lock       = { days = 7 }
    accept_locked_days = 7
  }

  expect_failures = [var.log_lock]
}

run "lifecycle_must_not_promise_what_the_lock_forbids" {
  command = plan

  variables {
    payload_expire_days = 90
  }

  expect_failures = [var.payload_expire_days]
}

run "bodies_may_be_kept" {
  command = plan

  variables {
    payload_expire_days = null
  }

  assert {
    condition     = length(aws_s3_bucket_lifecycle_configuration.this["payload"].rule) == 1
    error_message = "no rule removes bodies"
  }
}

run "break_glass_is_somebody_and_not_everybody" {
  command = plan

  variables {
    break_glass_role_arns = ["arn:aws:iam::111122223333:role/*"]
  }

  expect_failures = [var.break_glass_role_arns]
}

run "access_logs_go_where_they_are_told" {
  command = plan

  variables {
    access_log_bucket = "acme-access"
  }

  assert {
    condition     = alltrue([for logging in aws_s3_bucket_logging.this : logging.target_bucket == "acme-access"])
    error_message = "both buckets log there"
  }
}
