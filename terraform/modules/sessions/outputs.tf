output "table" {
  description = "The table's name: sessions.table in the gateway's configuration."
  value       = aws_dynamodb_table.this.name
}

output "parts_bucket" {
  description = "The bucket's name: sessions.parts_bucket."
  value       = aws_s3_bucket.parts.bucket
}

output "gateway_policy" {
  description = "IAM policy for the gateway's role: items of the table, objects of the bucket, and a look at both."
  value       = local.gateway_policy
}

locals {
  # The gateway's tests take the lists from here: it gets by with exactly these.
  table_actions = [
    "dynamodb:DeleteItem",
    "dynamodb:DescribeTable",
    "dynamodb:DescribeTimeToLive",
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "dynamodb:Query",
    "dynamodb:UpdateItem"
  ]

  object_actions = [
    "s3:DeleteObject",
    "s3:GetObject",
    "s3:PutObject"
  ]

  # Without the right to list, S3 says "denied" of an object that is not there.
  bucket_actions = [
    "s3:GetBucketVersioning",
    "s3:ListBucket"
  ]

  gateway_policy = jsonencode({
    Version = "2012-10-17"
    Statement = concat(
      [
        {
          Effect   = "Allow"
          Action   = local.table_actions
          Resource = [aws_dynamodb_table.this.arn, "${aws_dynamodb_table.this.arn}/index/by_end"]
        },
        {
          Effect   = "Allow"
          Action   = local.object_actions
          Resource = ["${aws_s3_bucket.parts.arn}/parts/*"]
        },
        {
          Effect   = "Allow"
          Action   = local.bucket_actions
          Resource = [aws_s3_bucket.parts.arn]
        },
      ],
      var.kms_key_arn == null ? [] : [
        {
          Effect   = "Allow"
          Action   = ["kms:Decrypt", "kms:GenerateDataKey"]
          Resource = [var.kms_key_arn]
        },
      ],
    )
  })
}
