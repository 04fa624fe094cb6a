# That the trial can be applied as it stands, and taken down again.

mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "111122223333" }
  }

  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
}

run "the_trial_locks_nothing_for_good" {
  variables {
    region            = "eu-central-1"
    name              = "acme-trial"
    operator_role_arn = "arn:aws:iam::111122223333:role/me"
  }

  assert {
    condition     = output.buckets.log == "acme-trial-log"
    error_message = "the buckets bear the name"
  }

  assert {
    condition     = !strcontains(output.writer_policy, "Bypass") && !strcontains(output.auditor_policy, "Bypass")
    error_message = "only the operator gets round a lock"
  }
}
