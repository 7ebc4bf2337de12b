# Named as terraform-aws-modules/eks/aws//modules/karpenter names them, where there is the same thing.

output "iam_role_arn" {
  description = "The role of function provisioning, which launches nodes. iam_role_arns has all."
  value       = local.function_role_arns[0]
}

output "iam_role_name" {
  description = "The name of that role."
  value       = element(split("/", local.function_role_arns[0]), length(split("/", local.function_role_arns[0])) - 1)
}

output "iam_role_arns" {
  description = "The roles of provisioning, lifecycle, disruption, interruption and the watcher, in this order."
  value       = local.function_role_arns
}

output "queue_arn" {
  description = "The queue at which notices of EC2 arrive."
  value       = aws_cloudformation_stack.installation.outputs["InterruptionQueueArn"]
}

output "queue_name" {
  description = "The name of that queue."
  value       = split(":", aws_cloudformation_stack.installation.outputs["InterruptionQueueArn"])[5]
}

output "queue_url" {
  description = "The URL of that queue."
  value       = aws_cloudformation_stack.installation.outputs["InterruptionQueueUrl"]
}

output "node_iam_role_arn" {
  description = "The role of nodes."
  value       = module.cluster.node_iam_role_arn
}

output "node_iam_role_name" {
  description = "The name of the role of nodes: spec.role of EC2NodeClasses."
  value       = module.cluster.node_iam_role_name
}

output "node_iam_role_unique_id" {
  description = "The unique id of the role of nodes; null where the module made none."
  value       = module.cluster.node_iam_role_unique_id
}

output "node_access_entry_arn" {
  description = "The access entry of nodes; null where the module made none."
  value       = module.cluster.node_access_entry_arn
}

output "instance_profile_arn" {
  description = "The instance profile of nodes; null where the module made none."
  value       = module.cluster.instance_profile_arn
}

output "instance_profile_id" {
  description = "The id of the instance profile; null where the module made none."
  value       = module.cluster.instance_profile_id
}

output "instance_profile_name" {
  description = "The name of the instance profile: spec.instanceProfile of EC2NodeClasses; null where the module made none."
  value       = module.cluster.instance_profile_name
}

output "instance_profile_unique" {
  description = "The unique id of the instance profile; null where the module made none."
  value       = module.cluster.instance_profile_unique
}

# Outrigger's own.

output "installation" {
  description = "What modules/cluster needs to know, for further clusters."
  value = {
    name               = aws_cloudformation_stack.installation.name
    function_role_arns = local.function_role_arns
    failed_events_arn  = aws_cloudformation_stack.installation.outputs["FailedEventsArn"]
  }
}

output "installation_id" {
  description = "Who this installation is to clusters; `outrigger status` shows it."
  value       = aws_cloudformation_stack.installation.outputs["InstallationId"]
}

output "table_name" {
  description = "The table that holds what is remembered. It stays when the stack goes."
  value       = aws_cloudformation_stack.installation.outputs["TableName"]
}
