# A lock does not save what its key's deletion makes unreadable, so the keys are as hard to remove as the objects.

resource "aws_kms_key" "this" {
  for_each = local.buckets

  description             = "Gatehouse: objects of ${each.value.name}"
  enable_key_rotation     = true
  rotation_period_in_days = 365
  deletion_window_in_days = var.key_deletion_days
  policy                  = local.key_policy
  tags                    = var.tags
}

resource "aws_kms_alias" "this" {
  for_each = local.buckets

  name          = "alias/${each.value.name}"
  target_key_id = aws_kms_key.this[each.key].key_id
}

locals {
  key_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        # IAM decides who uses the key: see the outputs writer_policy and auditor_policy.
        Sid       = "AccountDecides"
        Effect    = "Allow"
        Principal = { AWS = "arn:${local.partition}:iam::${local.account}:root" }
        Action    = "kms:*"
        Resource  = "*"
      },
      {
        Sid       = "OnlyBreakGlassRemoves"
        Effect    = "Deny"
        Principal = { AWS = "*" }
        Action    = ["kms:ScheduleKeyDeletion", "kms:DisableKey", "kms:DeleteImportedKeyMaterial"]
        Resource  = "*"
        Condition = { ArnNotEquals = { "aws:PrincipalArn" = var.break_glass_role_arns } }
      },
    ]
  })
}
