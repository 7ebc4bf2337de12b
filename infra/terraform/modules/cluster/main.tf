data "aws_partition" "current" {}

data "aws_iam_policy_document" "node_assume_role" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ec2.${data.aws_partition.current.dns_suffix}"]
    }
  }
}

locals {
  policies = "arn:${data.aws_partition.current.partition}:iam::aws:policy"

  node_policies = merge({
    AmazonEKSWorkerNodePolicy          = "${local.policies}/AmazonEKSWorkerNodePolicy"
    AmazonEKS_CNI_Policy               = "${local.policies}/AmazonEKS_CNI_Policy"
    AmazonEC2ContainerRegistryPullOnly = "${local.policies}/AmazonEC2ContainerRegistryPullOnly"
    AmazonSSMManagedInstanceCore       = "${local.policies}/AmazonSSMManagedInstanceCore"
  }, var.node_iam_role_additional_policies)

  node_iam_role_arn = var.create_node_iam_role ? aws_iam_role.node[0].arn : var.node_iam_role_arn
  # A role's ARN ends with its name, after its path.
  node_iam_role_name = try(reverse(split("/", local.node_iam_role_arn))[0], null)

  # In the order of function_role_arns.
  functions = ["provisioning", "lifecycle", "disruption", "interruption", "watcher"]
}

# --- What nodes need: as infra/nodes.yaml ------------------------------------------------------------------------------

resource "aws_iam_role" "node" {
  count = var.create_node_iam_role ? 1 : 0

  name        = var.node_iam_role_name
  name_prefix = var.node_iam_role_name == null ? "${substr(var.cluster_name, 0, 30)}-node-" : null
  # What the functions' right to lend the role goes by: statement LendNodesTheirRole of template.yaml.
  path                  = "/outrigger/${var.installation.name}/"
  description           = "What nodes of cluster ${var.cluster_name} may do."
  assume_role_policy    = data.aws_iam_policy_document.node_assume_role.json
  permissions_boundary  = var.node_iam_role_permissions_boundary
  force_detach_policies = true
  tags                  = var.tags
}

resource "aws_iam_role_policy_attachment" "node" {
  for_each = { for name, arn in local.node_policies : name => arn if var.create_node_iam_role }

  role       = aws_iam_role.node[0].name
  policy_arn = each.value
}

resource "aws_iam_instance_profile" "node" {
  count = var.create_instance_profile ? 1 : 0

  name_prefix = "${substr(var.cluster_name, 0, 30)}-node-"
  path        = "/outrigger/${var.installation.name}/"
  role        = local.node_iam_role_name
  tags        = var.tags
}

resource "aws_eks_access_entry" "node" {
  count = var.create_access_entry ? 1 : 0

  cluster_name  = var.cluster_name
  principal_arn = local.node_iam_role_arn
  type          = "EC2_LINUX"
  tags          = var.tags
}

# Counted, since ids of what is made in the same run are not known when it is planned.
resource "aws_ec2_tag" "subnet" {
  count = length(var.discovery_subnet_ids)

  resource_id = var.discovery_subnet_ids[count.index]
  key         = "karpenter.sh/discovery"
  value       = var.cluster_name
}

resource "aws_ec2_tag" "security_group" {
  count = length(var.discovery_security_group_ids)

  resource_id = var.discovery_security_group_ids[count.index]
  key         = "karpenter.sh/discovery"
  value       = var.cluster_name
}

# --- Who is let in: rights of the groups are those of infra/kubernetes/rbac.yaml ------------------------------------------

resource "aws_eks_access_entry" "function" {
  for_each = toset(var.create_access_entries ? local.functions : [])

  cluster_name      = var.cluster_name
  principal_arn     = var.installation.function_role_arns[index(local.functions, each.key)]
  kubernetes_groups = [each.key == "watcher" ? "outrigger-watcher" : "outrigger"]
  tags              = var.tags
}

# --- Schedules, alarms and the dashboard -----------------------------------------------------------------------------------

resource "aws_cloudformation_stack" "cluster" {
  name          = "${var.installation.name}-${replace(var.cluster_name, "_", "-")}"
  template_body = file("${path.module}/../../../cluster.yaml")
  capabilities  = ["CAPABILITY_IAM"]
  tags          = var.tags

  parameters = merge(local.parameters, {
    Installation        = var.installation.name
    FunctionRoleArns    = join(",", var.installation.function_role_arns)
    FailedEventsArn     = var.installation.failed_events_arn
    ManageAccessEntries = "false"
  })

  # No function is woken for a cluster that turns it away.
  depends_on = [aws_eks_access_entry.function]

  lifecycle {
    precondition {
      condition     = var.create_node_iam_role || var.node_iam_role_arn != null
      error_message = "With create_node_iam_role = false, node_iam_role_arn has to name the role of nodes."
    }
  }
}
