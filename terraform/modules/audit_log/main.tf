# Two buckets, each with its key. Everything in them is locked; the policies are in policy.tf.

data "aws_caller_identity" "current" {}

data "aws_partition" "current" {}

locals {
  partition = data.aws_partition.current.partition
  account   = data.aws_caller_identity.current.account_id

  buckets = {
    log     = { name = "${var.name}-log", lock = var.log_lock }
    payload = { name = "${var.name}-payload", lock = var.payload_lock }
  }

  compliance_days = [for bucket in local.buckets : bucket.lock.days if bucket.lock.mode == "COMPLIANCE"]
  longest_locked  = max(0, local.compliance_days...)
}

resource "aws_s3_bucket" "this" {
  #checkov:skip=CKV_AWS_18:Access logs go where var.access_log_bucket says; CloudTrail data events are the usual choice.
  #checkov:skip=CKV_AWS_144:Replication is its own module: the replica belongs in another account.
  #checkov:skip=CKV2_AWS_62:Nobody reacts to single segments; the auditor lists them.
  for_each = local.buckets

  bucket              = each.value.name
  object_lock_enabled = true
  force_destroy       = var.destroyable
  tags                = var.tags

  lifecycle {
    precondition {
      condition     = var.accept_locked_days == local.longest_locked
      error_message = <<-EOT
        STOP. COMPLIANCE locks cannot be undone: whatever is written to these buckets stays for ${local.longest_locked} days.
        Nobody can delete it before, neither you, nor the account's root, nor AWS support; the only way out is to close
        the AWS account. Try examples/trial first. If you mean it, set accept_locked_days = ${local.longest_locked}.
      EOT
    }
  }
}

resource "aws_s3_bucket_versioning" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id

  versioning_configuration {
    status = "Enabled"
  }
}

# The writer locks each object itself; this is the net below it.
resource "aws_s3_bucket_object_lock_configuration" "this" {
  for_each = aws_s3_bucket_versioning.this

  bucket = each.value.bucket

  rule {
    default_retention {
      mode = local.buckets[each.key].lock.mode
      days = local.buckets[each.key].lock.days
    }
  }
}

resource "aws_s3_bucket_public_access_block" "this" {
  for_each = aws_s3_bucket.this

  bucket                  = each.value.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_ownership_controls" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_server_side_encryption_configuration" "this" {
  for_each = aws_s3_bucket.this

  bucket = each.value.id

  rule {
    bucket_key_enabled = true

    apply_server_side_encryption_by_default {
      sse_algorithm     = "aws:kms"
      kms_master_key_id = aws_kms_key.this[each.key].arn
    }
  }
}

# In the log bucket lifecycle removes nothing, ever: its delete markers would look like an attack on the log, and the
# auditor reports them as one. Parts of uploads that were never completed are no objects and hold no lock.
resource "aws_s3_bucket_lifecycle_configuration" "this" {
  for_each = aws_s3_bucket.this

  bucket     = each.value.id
  depends_on = [aws_s3_bucket_versioning.this]

  rule {
    id     = "unfinished-uploads"
    status = "Enabled"

    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 7
    }
  }

  dynamic "rule" {
    for_each = each.key == "payload" && var.payload_expire_days != null ? [var.payload_expire_days] : []

    content {
      id     = "expired-bodies"
      status = "Enabled"

      filter {}

      expiration {
        days = rule.value
      }

      noncurrent_version_expiration {
        noncurrent_days = 1
      }
    }
  }
}

resource "aws_s3_bucket_logging" "this" {
  for_each = var.access_log_bucket == null ? {} : aws_s3_bucket.this

  bucket        = each.value.id
  target_bucket = var.access_log_bucket
  target_prefix = "${each.value.bucket}/"
}
