# What the module promises, without an account: plans against a provider that is mocked.

mock_provider "aws" {
  mock_resource "aws_dynamodb_table" {
    defaults = { arn = "arn:aws:dynamodb:eu-central-1:111122223333:table/acme-sessions" }
  }

  mock_resource "aws_s3_bucket" {
    defaults = { arn = "arn:aws:s3:::acme-sessions-parts" }
  }
}

variables {
  name = "acme-sessions"
}

run "the_table_is_as_the_gateway_wants_it" {
  assert {
    condition     = aws_dynamodb_table.this.hash_key == "pk" && aws_dynamodb_table.this.range_key == "sk"
    error_message = "the keys are pk and sk"
  }

  assert {
    condition = alltrue([
      for index in aws_dynamodb_table.this.local_secondary_index :
      index.name == "by_end" && index.range_key == "ends_us" && index.projection_type == "KEYS_ONLY"
    ]) && length(aws_dynamodb_table.this.local_secondary_index) == 1
    error_message = "sessions are found by their ends"
  }

  assert {
    condition     = aws_dynamodb_table.this.ttl[0].enabled && aws_dynamodb_table.this.ttl[0].attribute_name == "let_go_s"
    error_message = "what is over is removed"
  }

  assert {
    condition     = aws_dynamodb_table.this.deletion_protection_enabled && !aws_s3_bucket.parts.force_destroy
    error_message = "nothing is destroyed by mistake"
  }

  assert {
    condition     = !aws_dynamodb_table.this.point_in_time_recovery[0].enabled
    error_message = "what is erased is not kept in a backup"
  }

  assert {
    condition     = output.table == "acme-sessions" && output.parts_bucket == "acme-sessions-parts"
    error_message = "the outputs are what the configuration wants"
  }
}

run "the_gateways_role_may_touch_items_and_objects_and_no_more" {
  assert {
    condition = alltrue([
      for action in flatten([for statement in jsondecode(output.gateway_policy).Statement : statement.Action]) :
      !strcontains(action, "*") && !strcontains(action, "Table") || action == "dynamodb:DescribeTable"
    ])
    error_message = "no table is made, changed or deleted"
  }

  assert {
    condition = alltrue([
      for resource in flatten([for statement in jsondecode(output.gateway_policy).Statement : statement.Resource]) :
      startswith(resource, "arn:aws:dynamodb:eu-central-1:111122223333:table/acme-sessions") || startswith(resource, "arn:aws:s3:::acme-sessions-parts")
    ])
    error_message = "of no other table or bucket"
  }
}

run "parts_may_be_let_go_by_themselves" {
  variables {
    parts_expire_days = 40
  }

  assert {
    condition     = length(aws_s3_bucket_lifecycle_configuration.parts.rule) == 2
    error_message = "a rule removes what nobody did"
  }
}

run "days_that_would_take_living_parts_are_refused" {
  command = plan

  variables {
    parts_expire_days = 1
  }

  expect_failures = [var.parts_expire_days]
}
