# What nobody may do, whatever IAM allows. Allowing is IAM's part: see the outputs writer_policy and auditor_policy.

locals {
  not_break_glass = { ArnNotEquals = { "aws:PrincipalArn" = var.break_glass_role_arns } }
  bucket_arns     = { for key, bucket in local.buckets : key => "arn:${local.partition}:s3:::${bucket.name}" }

  object_arns = { for key, arn in local.bucket_arns : key => "${arn}/*" }

  denied = {
    for key, bucket in local.buckets : key => [
      {
        Sid       = "TlsOnly"
        Action    = "s3:*"
        Resource  = [local.bucket_arns[key], local.object_arns[key]]
        Condition = { Bool = { "aws:SecureTransport" = "false" } }
      },
      {
        Sid       = "ModernTlsOnly"
        Action    = "s3:*"
        Resource  = [local.bucket_arns[key], local.object_arns[key]]
        Condition = { NumericLessThan = { "s3:TlsVersion" = "1.2" } }
      },
      {
        # A name is written once. The parts of an upload carry no condition, only its completion does.
        Sid      = "CreateOnly"
        Action   = "s3:PutObject"
        Resource = local.object_arns[key]
        Condition = {
          Null = { "s3:if-none-match" = "true" }
          Bool = { "s3:ObjectCreationOperation" = "true" }
        }
      },
      {
        Sid      = "NoOtherEncryption"
        Action   = "s3:PutObject"
        Resource = local.object_arns[key]
        Condition = {
          Null            = { "s3:x-amz-server-side-encryption" = "false" }
          StringNotEquals = { "s3:x-amz-server-side-encryption" = "aws:kms" }
        }
      },
      {
        Sid      = "NoOtherKey"
        Action   = "s3:PutObject"
        Resource = local.object_arns[key]
        Condition = {
          Null            = { "s3:x-amz-server-side-encryption-aws-kms-key-id" = "false" }
          StringNotEquals = { "s3:x-amz-server-side-encryption-aws-kms-key-id" = aws_kms_key.this[key].arn }
        }
      },
      {
        # Absent means the bucket's default, which is the same mode.
        Sid      = "NoOtherMode"
        Action   = ["s3:PutObject", "s3:PutObjectRetention"]
        Resource = local.object_arns[key]
        Condition = {
          Null            = { "s3:object-lock-mode" = "false" }
          StringNotEquals = { "s3:object-lock-mode" = bucket.lock.mode }
        }
      },
      {
        # A put that brings its lock needs the right to PutObjectRetention, so that cannot be denied as such. But a
        # lock may only end this far ahead: later than any earlier one did. One day less, since S3 counts whole days
        # from the moment of the request.
        Sid       = "NoShorterLock"
        Action    = ["s3:PutObject", "s3:PutObjectRetention"]
        Resource  = local.object_arns[key]
        Condition = { NumericLessThan = { "s3:object-lock-remaining-retention-days" = tostring(bucket.lock.days - 1) } }
      },
      {
        Sid       = "NoEndlessLock"
        Action    = ["s3:PutObject", "s3:PutObjectRetention"]
        Resource  = local.object_arns[key]
        Condition = { NumericGreaterThan = { "s3:object-lock-remaining-retention-days" = tostring(var.longest_lock_days) } }
      },
      {
        # A delete marker hides an object without touching its lock, and makes its name writable again.
        Sid = "OnlyBreakGlassRemoves"
        Action = [
          "s3:BypassGovernanceRetention",
          "s3:DeleteObject",
          "s3:DeleteObjectTagging",
          "s3:DeleteObjectVersion",
          "s3:DeleteObjectVersionTagging",
          "s3:PutObjectLegalHold",
        ]
        Resource  = local.object_arns[key]
        Condition = local.not_break_glass
      },
      {
        Sid = "OnlyBreakGlassConfigures"
        Action = [
          "s3:DeleteBucket",
          "s3:DeleteBucketPolicy",
          "s3:PutBucketAcl",
          "s3:PutBucketLogging",
          "s3:PutBucketObjectLockConfiguration",
          "s3:PutBucketOwnershipControls",
          "s3:PutBucketPolicy",
          "s3:PutBucketPublicAccessBlock",
          "s3:PutBucketVersioning",
          "s3:PutEncryptionConfiguration",
          "s3:PutLifecycleConfiguration",
          "s3:PutReplicationConfiguration",
        ]
        Resource  = local.bucket_arns[key]
        Condition = local.not_break_glass
      },
    ]
  }
}

resource "aws_s3_bucket_policy" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      for statement in local.denied[each.key] : merge(statement, { Effect = "Deny", Principal = "*" })
    ]
  })

  # Last, so that a wrong list of roles is found out before it shuts anyone out of a half-made bucket.
  depends_on = [
    aws_s3_bucket_object_lock_configuration.this,
    aws_s3_bucket_ownership_controls.this,
    aws_s3_bucket_public_access_block.this,
  ]
}
