output "buckets" {
  description = "Names of the log and payload buckets."
  value       = { for key, bucket in aws_s3_bucket.this : key => bucket.bucket }
}

output "key_arns" {
  description = "Of the keys that the buckets' objects are encrypted with."
  value       = { for key, kms_key in aws_kms_key.this : key => kms_key.arn }
}

output "account" {
  description = "That owns the buckets: `ledger.expected_owner` of the gateway, `--expected-owner` of the auditor."
  value       = local.account
}

output "retention_days" {
  description = "Of the log's lock: `ledger.retention_days` of the gateway, `--retention-days` of the auditor."
  value       = var.log_lock.days
}

output "writer_policy" {
  description = "IAM policy for the gateway's role: create in both buckets, look at what it wrote, delete nothing."
  value       = local.writer_policy
}

output "auditor_policy" {
  description = "IAM policy for the auditor's role: read the log with all its versions and settings; no bodies."
  value       = local.auditor_policy
}

output "payload_auditor_policy" {
  description = "IAM policy for who compares or opens bodies (`verify --payloads`, `rescan`): read them with all their versions."
  value       = local.payload_auditor_policy
}

locals {
  writer_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        # The retention goes with the put; S3 asks for the second permission then. What was written is looked at again.
        Effect = "Allow"
        Action = [
          "s3:GetObject",
          "s3:GetObjectRetention",
          "s3:GetObjectVersion",
          "s3:PutObject",
          "s3:PutObjectRetention",
        ]
        Resource = values(local.object_arns)
      },
      {
        # The gateway does not start on a bucket whose lock and versions it cannot see.
        Effect = "Allow"
        Action = [
          "s3:GetBucketObjectLockConfiguration",
          "s3:GetBucketVersioning",
          "s3:ListBucket",
          "s3:ListBucketVersions",
        ]
        Resource = values(local.bucket_arns)
      },
      {
        Effect   = "Allow"
        Action   = ["kms:GenerateDataKey", "kms:Decrypt"]
        Resource = [for key in aws_kms_key.this : key.arn]
      },
    ]
  })

  auditor_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect = "Allow"
        Action = [
          "s3:GetObject",
          "s3:GetObjectLegalHold",
          "s3:GetObjectRetention",
          "s3:GetObjectVersion",
        ]
        Resource = [local.object_arns.log]
      },
      {
        Effect = "Allow"
        Action = [
          "s3:GetBucketObjectLockConfiguration",
          "s3:GetBucketPolicy",
          "s3:GetBucketPublicAccessBlock",
          "s3:GetBucketVersioning",
          "s3:GetEncryptionConfiguration",
          "s3:GetLifecycleConfiguration",
          "s3:ListBucket",
          "s3:ListBucketVersions",
        ]
        Resource = [local.bucket_arns.log]
      },
      {
        Effect   = "Allow"
        Action   = ["kms:Decrypt"]
        Resource = [aws_kms_key.this["log"].arn]
      },
    ]
  })

  payload_auditor_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Effect = "Allow"
        Action = [
          "s3:GetObject",
          "s3:GetObjectLegalHold",
          "s3:GetObjectRetention",
          "s3:GetObjectVersion",
        ]
        Resource = [local.object_arns.payload]
      },
      {
        Effect = "Allow"
        Action = [
          "s3:GetBucketObjectLockConfiguration",
          "s3:GetBucketPolicy",
          "s3:GetBucketPublicAccessBlock",
          "s3:GetBucketVersioning",
          "s3:GetEncryptionConfiguration",
          "s3:GetLifecycleConfiguration",
          "s3:ListBucket",
          "s3:ListBucketVersions",
        ]
        Resource = [local.bucket_arns.payload]
      },
      {
        Effect   = "Allow"
        Action   = ["kms:Decrypt"]
        Resource = [aws_kms_key.this["payload"].arn]
      },
    ]
  })
}
