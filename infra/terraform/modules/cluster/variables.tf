# Variables that stand for no parameter of infra/cluster.yaml; those that do are in parameters.tf.

variable "installation" {
  description = "The installation that serves the cluster: output installation of the module above."
  type = object({
    name               = string
    function_role_arns = list(string)
    failed_events_arn  = string
  })
  nullable = false

  validation {
    condition     = length(var.installation.function_role_arns) == 5
    error_message = "function_role_arns must be the roles of provisioning, lifecycle, disruption, interruption and the watcher."
  }
}

variable "tags" {
  description = "Tags of everything that this module makes."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "discovery_subnet_ids" {
  description = "Subnets for nodes, which get tag karpenter.sh/discovery with the cluster's name. Empty where they have it."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "discovery_security_group_ids" {
  description = "Security groups for nodes, which get the same tag. Empty where they have it."
  type        = list(string)
  default     = []
  nullable    = false
}

variable "create_access_entries" {
  description = "Whether to make the EKS access entries of functions. With false the cluster's aws-auth ConfigMap has to let them in."
  type        = bool
  default     = true
  nullable    = false
}

variable "create_node_iam_role" {
  description = "Whether to make the role of nodes. With false, node_iam_role_arn names one that is there, such as Karpenter's."
  type        = bool
  default     = true
  nullable    = false
}

variable "node_iam_role_arn" {
  description = "The role of nodes, where this module makes none."
  type        = string
  default     = null
}

variable "node_iam_role_name" {
  description = "The name of the role of nodes. Null gives it one that begins with the cluster's name."
  type        = string
  default     = null
}

variable "node_iam_role_additional_policies" {
  description = "Policies of the role of nodes beside those that every node needs: ARNs, under any names."
  type        = map(string)
  default     = {}
  nullable    = false
}

variable "node_iam_role_permissions_boundary" {
  description = "The ARN of a permissions boundary of the role of nodes."
  type        = string
  default     = null
}

variable "create_access_entry" {
  description = "Whether to make the EKS access entry of nodes. With false it is there, or aws-auth has a line for their role."
  type        = bool
  default     = true
  nullable    = false
}

variable "create_instance_profile" {
  description = "Whether to make an instance profile, for EC2NodeClasses that name one in place of a role."
  type        = bool
  default     = false
  nullable    = false
}
