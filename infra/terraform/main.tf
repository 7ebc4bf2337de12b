data "aws_partition" "current" {}

data "aws_region" "current" {}

locals {
  template = "outrigger-${var.release}-template.yaml"
  code     = "outrigger-${var.release}-functions-${var.architecture}.zip"
  bucket   = "https://${var.code_bucket}.s3.${data.aws_region.current.id}.${data.aws_partition.current.dns_suffix}"

  # Functions may lend roles of this module by their path; any other has to be named.
  other_node_role_arns = compact(concat(var.other_node_role_arns, var.create_node_iam_role ? [] : [var.node_iam_role_arn]))

  installation_parameters = merge(local.parameters, {
    ClusterNames      = join(",", length(var.cluster_names) > 0 ? var.cluster_names : [var.cluster_name])
    OtherNodeRoleArns = join(",", local.other_node_role_arns)
  })

  function_role_arns = split(",", aws_cloudformation_stack.installation.outputs["FunctionRoleArns"])
}

# --- The release -----------------------------------------------------------------------------------------------------

resource "aws_s3_object" "release" {
  for_each = toset(var.release_folder == null ? [] : [local.template, local.code])

  bucket      = var.code_bucket
  key         = "${var.code_prefix}${each.key}"
  source      = "${var.release_folder}/${each.key}"
  source_hash = filemd5("${var.release_folder}/${each.key}")
  tags        = var.tags
}

# --- The installation: functions, table, queue, and the rules that feed it -------------------------------------------------

resource "aws_cloudformation_stack" "installation" {
  name         = var.installation
  template_url = "${local.bucket}/${var.code_prefix}${local.template}"
  parameters   = local.installation_parameters
  # The template is one of SAM, which CloudFormation expands.
  capabilities = ["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
  tags         = var.tags

  lifecycle {
    precondition {
      condition     = var.create_node_iam_role || var.node_iam_role_arn != null
      error_message = "With create_node_iam_role = false, node_iam_role_arn has to name the role of nodes."
    }
  }

  depends_on = [aws_s3_object.release]
}

# --- The first cluster -------------------------------------------------------------------------------------------------

module "cluster" {
  source = "./modules/cluster"

  installation = {
    name               = aws_cloudformation_stack.installation.name
    function_role_arns = local.function_role_arns
    failed_events_arn  = aws_cloudformation_stack.installation.outputs["FailedEventsArn"]
  }

  cluster_name          = var.cluster_name
  reaction_mode         = var.reaction_mode
  provisioning_schedule = var.provisioning_schedule
  lifecycle_schedule    = var.lifecycle_schedule
  disruption_schedule   = var.disruption_schedule
  metrics_namespace     = var.metrics_namespace
  alarm_topic_arn       = var.alarm_topic_arn
  pod_wait_seconds_max  = var.pod_wait_seconds_max

  discovery_subnet_ids         = var.discovery_subnet_ids
  discovery_security_group_ids = var.discovery_security_group_ids
  create_access_entries        = var.create_access_entries

  create_node_iam_role               = var.create_node_iam_role
  node_iam_role_arn                  = var.node_iam_role_arn
  node_iam_role_name                 = var.node_iam_role_name
  node_iam_role_additional_policies  = var.node_iam_role_additional_policies
  node_iam_role_permissions_boundary = var.node_iam_role_permissions_boundary
  create_access_entry                = var.create_access_entry
  create_instance_profile            = var.create_instance_profile

  tags = var.tags
}
