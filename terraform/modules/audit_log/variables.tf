variable "name" {
  description = "Begins the names of the buckets and key aliases. Bucket names are global: add what makes it yours."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,40}$", var.name))
    error_message = "The name must be 3 to 41 characters of a-z, 0-9 and -, and begin with a letter."
  }
}

variable "break_glass_role_arns" {
  description = <<-EOT
    IAM roles that alone may change the buckets' policies, versioning, lifecycle and lock settings, place delete
    markers, remove versions whose lock has ended, and schedule the keys' deletion. The role that applies this module
    must be one of them: any other locks itself out in the middle. The gateway's and the auditor's roles must not be.
  EOT
  type        = list(string)

  validation {
    condition     = length(var.break_glass_role_arns) > 0
    error_message = "At least the role that applies this module must be named."
  }

  validation {
    condition     = alltrue([for arn in var.break_glass_role_arns : can(regex("^arn:[a-z-]+:iam::[0-9]{12}:role/[^*?]+$", arn))])
    error_message = "Each must be the ARN of one IAM role, without wildcards."
  }
}

variable "log_lock" {
  description = <<-EOT
    The lock on every object of the log bucket. COMPLIANCE: nobody, the account's root included, can shorten it or
    delete the object before it ends. GOVERNANCE is for trials: break-glass roles can.
  EOT
  type = object({
    mode = optional(string, "COMPLIANCE")
    days = optional(number, 400)
  })
  default = {}

  validation {
    condition     = contains(["COMPLIANCE", "GOVERNANCE"], var.log_lock.mode)
    error_message = "The mode must be COMPLIANCE or GOVERNANCE."
  }

  validation {
    condition     = var.log_lock.days >= 1 && var.log_lock.days == floor(var.log_lock.days)
    error_message = "The days must be a whole number of at least 1."
  }

  validation {
    condition     = var.log_lock.mode != "COMPLIANCE" || var.log_lock.days >= 365
    error_message = "A log under COMPLIANCE is kept for at least 365 days; for a trial use GOVERNANCE."
  }
}

variable "payload_lock" {
  description = <<-EOT
    The lock on the encrypted bodies. Shorter than the log's: a body is erased by destroying its session's key, which is
    never in these buckets.
  EOT
  type = object({
    mode = optional(string, "COMPLIANCE")
    days = optional(number, 90)
  })
  default = {}

  validation {
    condition     = contains(["COMPLIANCE", "GOVERNANCE"], var.payload_lock.mode)
    error_message = "The mode must be COMPLIANCE or GOVERNANCE."
  }

  validation {
    condition     = var.payload_lock.days >= 1 && var.payload_lock.days == floor(var.payload_lock.days)
    error_message = "The days must be a whole number of at least 1."
  }

  validation {
    condition     = var.payload_lock.days <= var.log_lock.days
    error_message = "Bodies must not be locked for longer than the log that refers to them."
  }
}

variable "accept_locked_days" {
  description = <<-EOT
    The longest COMPLIANCE lock of this configuration, in days, written out once more. Nothing that is written under it
    can be deleted before, by anyone, nor can its bucket, and it costs storage until then. Without it, COMPLIANCE is
    refused.
  EOT
  type        = number
  default     = 0
}

variable "longest_lock_days" {
  description = "Writes that ask for a longer lock are refused: a slip of a digit would be storage for a century."
  type        = number
  default     = 3653

  validation {
    condition     = var.longest_lock_days >= var.log_lock.days
    error_message = "It must not be shorter than the log's own lock."
  }
}

variable "payload_expire_days" {
  description = "Bodies are removed by lifecycle this many days after they were written. null: never."
  type        = number
  default     = 120
  nullable    = true

  validation {
    condition     = var.payload_expire_days == null ? true : var.payload_expire_days > var.payload_lock.days
    error_message = "Lifecycle cannot remove what is still locked: it must be more than payload_lock.days."
  }
}

variable "destroyable" {
  description = "Let `terraform destroy` empty the buckets, locked objects included. Only with GOVERNANCE on both."
  type        = bool
  default     = false

  validation {
    condition     = !var.destroyable || (var.log_lock.mode == "GOVERNANCE" && var.payload_lock.mode == "GOVERNANCE")
    error_message = "Under COMPLIANCE nothing can be destroyed before its lock ends."
  }
}

variable "access_log_bucket" {
  description = "An existing bucket for S3's server access logs. null: none; use CloudTrail data events instead."
  type        = string
  default     = null
}

variable "key_deletion_days" {
  description = "How long a key that is scheduled for deletion can be saved. Without its key a locked log is noise."
  type        = number
  default     = 30

  validation {
    condition     = var.key_deletion_days >= 7 && var.key_deletion_days <= 30
    error_message = "AWS takes 7 to 30 days."
  }
}

variable "tags" {
  description = "On everything."
  type        = map(string)
  default     = {}
}
