output "node_iam_role_arn" {
  description = "The role of nodes."
  value       = local.node_iam_role_arn
}

output "node_iam_role_name" {
  description = "The name of the role of nodes: spec.role of EC2NodeClasses."
  value       = local.node_iam_role_name
}

output "node_iam_role_unique_id" {
  description = "The unique id of the role of nodes; null where the module made none."
  value       = try(aws_iam_role.node[0].unique_id, null)
}

output "node_access_entry_arn" {
  description = "The access entry of nodes; null where the module made none."
  value       = try(aws_eks_access_entry.node[0].access_entry_arn, null)
}

output "instance_profile_arn" {
  description = "The instance profile of nodes; null where the module made none."
  value       = try(aws_iam_instance_profile.node[0].arn, null)
}

output "instance_profile_id" {
  description = "The id of the instance profile; null where the module made none."
  value       = try(aws_iam_instance_profile.node[0].id, null)
}

output "instance_profile_name" {
  description = "The name of the instance profile: spec.instanceProfile of EC2NodeClasses; null where the module made none."
  value       = try(aws_iam_instance_profile.node[0].name, null)
}

output "instance_profile_unique" {
  description = "The unique id of the instance profile; null where the module made none."
  value       = try(aws_iam_instance_profile.node[0].unique_id, null)
}

output "dashboard" {
  description = "The figures to look at first."
  value       = aws_cloudformation_stack.cluster.outputs["Dashboard"]
}
