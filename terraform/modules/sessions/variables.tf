variable "name" {
  description = "The table's name; with -parts behind it the bucket's. Bucket names are global: add what makes it yours."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,40}$", var.name))
    error_message = "The name must be 3 to 41 characters of a-z, 0-9 and -, and begin with a letter."
  }
}

variable "deletion_protection" {
  description = "The table cannot be deleted, nor the bucket while there is anything in it, until this is false."
  type        = bool
  default     = true
}

variable "kms_key_arn" {
  description = <<-EOT
    A KMS key that DynamoDB and S3 encrypt with, as well. null: keys that AWS owns. Everything secret is sealed before it
    gets there, so this is for rules that ask for a key of one's own.
  EOT
  type        = string
  default     = null

  validation {
    condition     = var.kms_key_arn == null ? true : can(regex("^arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/.+$", var.kms_key_arn))
    error_message = "It must be the ARN of a key, not of an alias."
  }
}

variable "point_in_time_recovery" {
  description = <<-EOT
    Keep what the table held for 35 days. Off, since a backup also keeps the wrapped keys of sessions that were erased, and
    whoever restores it brings them back. A table that was restored is noticed: docs/sessions-and-keys.md.
  EOT
  type        = bool
  default     = false
}

variable "parts_expire_days" {
  description = <<-EOT
    Objects are removed this many days after they were put, whatever became of their session. It must be more than
    sessions.absolute, else it takes parts of sessions that go on. null: never; gateways remove them when sessions end.
  EOT
  type        = number
  default     = null
  nullable    = true

  validation {
    condition     = var.parts_expire_days == null ? true : var.parts_expire_days >= 8 && var.parts_expire_days == floor(var.parts_expire_days)
    error_message = "The days must be a whole number of at least 8."
  }
}

variable "tags" {
  description = "On everything."
  type        = map(string)
  default     = {}
}
