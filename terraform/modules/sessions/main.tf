# Where Gatehouse keeps sessions for several gateways: a table for their heads, a bucket for their large parts. Both hold
# sealed bytes; what destroys a session is the deletion of its wrapped key, so neither keeps what was deleted.

resource "aws_dynamodb_table" "this" {
  name                        = var.name
  billing_mode                = "PAY_PER_REQUEST"
  deletion_protection_enabled = var.deletion_protection
  hash_key                    = "pk"
  range_key                   = "sk"
  tags                        = var.tags

  attribute {
    name = "pk"
    type = "S"
  }

  attribute {
    name = "sk"
    type = "S"
  }

  attribute {
    name = "ends_us"
    type = "N"
  }

  # Sessions by their ends. Local, since only local indexes can be read consistently; it cannot be added later.
  local_secondary_index {
    name            = "by_end"
    range_key       = "ends_us"
    projection_type = "KEYS_ONLY"
  }

  # Only tidies up, days late: the gateway looks at every item's end itself. No session has the attribute.
  ttl {
    enabled        = true
    attribute_name = "let_go_s"
  }

  # A key of the account's own where one is given, else one that AWS owns. Items are sealed in any case.
  server_side_encryption {
    enabled     = var.kms_key_arn != null
    kms_key_arn = var.kms_key_arn
  }

  #checkov:skip=CKV_AWS_28:a backup keeps the wrapped keys of erased sessions for its 35 days, so it is the operator's choice
  #checkov:skip=CKV_AWS_119:items are sealed by the gateway; a key of the account's own is a variable
  point_in_time_recovery {
    enabled = var.point_in_time_recovery
  }
}

resource "aws_s3_bucket" "parts" {
  #checkov:skip=CKV_AWS_18:objects are sealed and named by digests; CloudTrail data events tell who reads them
  #checkov:skip=CKV_AWS_21:a version would keep what the gateway deleted
  #checkov:skip=CKV_AWS_144:sessions live in one region
  #checkov:skip=CKV_AWS_145:objects are sealed by the gateway; a key of the account's own is a variable
  #checkov:skip=CKV2_AWS_62:nobody waits for a part
  bucket        = "${var.name}-parts"
  force_destroy = !var.deletion_protection
  tags          = var.tags
}

resource "aws_s3_bucket_ownership_controls" "parts" {
  bucket = aws_s3_bucket.parts.id

  rule {
    object_ownership = "BucketOwnerEnforced"
  }
}

resource "aws_s3_bucket_public_access_block" "parts" {
  bucket                  = aws_s3_bucket.parts.id
  block_public_acls       = true
  block_public_policy     = true
  ignore_public_acls      = true
  restrict_public_buckets = true
}

resource "aws_s3_bucket_server_side_encryption_configuration" "parts" {
  bucket = aws_s3_bucket.parts.id

  rule {
    bucket_key_enabled = var.kms_key_arn != null

    apply_server_side_encryption_by_default {
      sse_algorithm     = var.kms_key_arn == null ? "AES256" : "aws:kms"
      kms_master_key_id = var.kms_key_arn
    }
  }
}

resource "aws_s3_bucket_lifecycle_configuration" "parts" {
  bucket = aws_s3_bucket.parts.id

  rule {
    id     = "unfinished"
    status = "Enabled"

    filter {}

    abort_incomplete_multipart_upload {
      days_after_initiation = 1
    }
  }

  # Gateways remove the parts of every session that ends. This is for what none of them came to.
  dynamic "rule" {
    for_each = var.parts_expire_days == null ? [] : [var.parts_expire_days]

    content {
      id     = "left_behind"
      status = "Enabled"

      filter {
        prefix = "parts/"
      }

      expiration {
        days = rule.value
      }
    }
  }
}

resource "aws_s3_bucket_policy" "parts" {
  bucket = aws_s3_bucket.parts.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Sid       = "TlsOnly"
      Effect    = "Deny"
      Principal = "*"
      Action    = "s3:*"
      Resource  = [aws_s3_bucket.parts.arn, "${aws_s3_bucket.parts.arn}/*"]
      Condition = { Bool = { "aws:SecureTransport" = "false" } }
    }]
  })

  depends_on = [aws_s3_bucket_public_access_block.parts]
}
