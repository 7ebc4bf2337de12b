# Beside a Karpenter that was installed with terraform-aws-modules/eks: its nodes keep their role, nothing of it changes, and the
# functions only plan until `mode` is Active. docs/migrate.md goes through it.

terraform {
  required_version = ">= 1.5.7"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.15"
    }
  }
}

variable "code_bucket" {
  description = "A bucket in the cluster's region that holds the files of the release."
  type        = string
}

variable "region" {
  description = "The region of the cluster and of the bucket."
  type        = string
}

variable "cluster_name" {
  description = "The cluster."
  type        = string
}

provider "aws" {
  region = var.region
}

# As it was, and as it stays until nothing needs it: nodes have its role.
module "karpenter" {
  source  = "terraform-aws-modules/eks/aws//modules/karpenter"
  version = "~> 21.0"

  cluster_name = var.cluster_name
}

module "outrigger" {
  source = "../.."

  cluster_name = var.cluster_name
  code_bucket  = var.code_bucket
  mode         = "Observe"

  create_node_iam_role = false
  node_iam_role_arn    = module.karpenter.node_iam_role_arn
  create_access_entry  = false
}
