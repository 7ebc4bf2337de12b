# Variables that stand for no parameter of a template; those that do are in parameters.tf.

variable "installation" {
  description = "The name of the installation: of its stack, which the names of its functions begin with."
  type        = string
  default     = "outrigger"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z][A-Za-z0-9-]{0,49}$", var.installation))
    error_message = "installation must be the name of a stack, at most 50 letters, digits and hyphens."
  }
}

variable "release" {
  description = "The release whose template and code are installed. A stack changes its functions when this changes."
  type        = string
  default     = "0.1.0"
  nullable    = false

  validation {
    condition     = can(regex("^[0-9]+\\.[0-9]+\\.[0-9]+(-[0-9A-Za-z.-]+)?$", var.release))
    error_message = "release must be a version such as 0.1.0."
  }
}

variable "release_folder" {
  description = "A local folder with the files of the release, which are then copied into the bucket. Null where they are there already."
  type        = string
  default     = null
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
