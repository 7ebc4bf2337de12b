# A cluster without a single node of its own, and Outrigger for it. CoreDNS runs on Fargate; everything else gets nodes.

terraform {
  required_version = ">= 1.5.7"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.0"
    }
    helm = {
      source  = "hashicorp/helm"
      version = ">= 3.0"
    }
  }
}

variable "region" {
  description = "The region of everything."
  type        = string
  default     = "ap-northeast-2"
}

variable "code_bucket" {
  description = "A bucket in that region for the files of the release."
  type        = string
}

variable "release_folder" {
  description = "The folder with the files of the release."
  type        = string
}

locals {
  name = "shop"
  azs  = slice(data.aws_availability_zones.available.names, 0, 3)
}

provider "aws" {
  region = var.region
}

provider "helm" {
  kubernetes = {
    host                   = module.eks.cluster_endpoint
    cluster_ca_certificate = base64decode(module.eks.cluster_certificate_authority_data)
    exec = {
      api_version = "client.authentication.k8s.io/v1beta1"
      command     = "aws"
      args        = ["eks", "get-token", "--cluster-name", module.eks.cluster_name]
    }
  }
}

data "aws_availability_zones" "available" {
  filter {
    name   = "opt-in-status"
    values = ["opt-in-not-required"]
  }
}

module "vpc" {
  source  = "terraform-aws-modules/vpc/aws"
  version = "~> 6.0"

  name = local.name
  cidr = "10.0.0.0/16"
  azs  = local.azs

  private_subnets = [for index, zone in local.azs : cidrsubnet("10.0.0.0/16", 4, index)]
  public_subnets  = [for index, zone in local.azs : cidrsubnet("10.0.0.0/16", 8, index + 48)]

  enable_nat_gateway = true
  single_nat_gateway = true
}

module "eks" {
  source  = "terraform-aws-modules/eks/aws"
  version = "~> 21.0"

  name                                     = local.name
  kubernetes_version                       = "1.33"
  endpoint_public_access                   = true
  enable_cluster_creator_admin_permissions = true

  vpc_id     = module.vpc.vpc_id
  subnet_ids = module.vpc.private_subnets

  addons = {
    vpc-cni    = { before_compute = true }
    kube-proxy = {}
    coredns    = { configuration_values = jsonencode({ computeType = "Fargate" }) }
  }

  fargate_profiles = {
    coredns = {
      selectors = [{ namespace = "kube-system", labels = { k8s-app = "kube-dns" } }]
    }
  }
}

module "outrigger" {
  source = "../.."

  cluster_name   = module.eks.cluster_name
  code_bucket    = var.code_bucket
  release_folder = var.release_folder
  vpc_id         = module.vpc.vpc_id

  discovery_subnet_ids = module.vpc.private_subnets
  # Fargate's pods have the cluster's own group, so that nodes that have it reach CoreDNS.
  discovery_security_group_ids = [module.eks.cluster_primary_security_group_id]
}

resource "helm_release" "outrigger" {
  name      = "outrigger"
  namespace = "kube-system"
  chart     = "${path.module}/../../../helm/outrigger"

  values = [yamlencode({
    clusterName  = module.eks.cluster_name
    ec2NodeClass = { create = true, role = module.outrigger.node_iam_role_name }
    nodePool     = { create = true }
  })]
}
