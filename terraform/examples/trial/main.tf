# The audit log for an afternoon: one-day GOVERNANCE locks, which the role that applies this can remove, so that
# `terraform destroy` finishes. Not for anything that an auditor will read: whoever holds the role can delete the log.

terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0, < 7.0"
    }
  }
}

provider "aws" {
  region = var.region

  default_tags {
    tags = { project = "gatehouse-trial" }
  }
}

variable "region" {
  description = "Where to try it."
  type        = string
}

variable "name" {
  description = "Begins the buckets' names, which are global."
  type        = string
}

variable "operator_role_arn" {
  description = "The IAM role that runs terraform here, as `aws sts get-caller-identity` shows it, without the session."
  type        = string
}

module "audit_log" {
  source = "../../modules/audit_log"

  name                  = var.name
  break_glass_role_arns = [var.operator_role_arn]
  log_lock              = { mode = "GOVERNANCE", days = 1 }
  payload_lock          = { mode = "GOVERNANCE", days = 1 }
  payload_expire_days   = 2
  destroyable           = true
  key_deletion_days     = 7
}

output "buckets" {
  description = "The buckets' names."
  value       = module.audit_log.buckets
}

output "writer_policy" {
  description = "To attach to the gateway's role."
  value       = module.audit_log.writer_policy
}

output "auditor_policy" {
  description = "To attach to the auditor's role."
  value       = module.audit_log.auditor_policy
}
