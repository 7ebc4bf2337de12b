# Made by .ci/terraform/parameters.py from template.yaml and infra/cluster.yaml: a variable for each parameter.

variable "alarm_topic_arn" {
  description = "An SNS topic that alarms notify. Empty raises them without telling anybody."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(arn:aws[a-z-]*:sns:[a-z0-9-]+:[0-9]{12}:[\\w-]+)?$", var.alarm_topic_arn))
    error_message = "alarm_topic_arn must be the ARN of an SNS topic, or empty."
  }
}

variable "architecture" {
  description = "What functions run on. arm64 costs a fifth less."
  type        = string
  default     = "arm64"
  nullable    = false

  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "architecture must be arm64 or x86_64."
  }
}

variable "catalog_memory" {
  description = "Memory in MB of the function catalog."
  type        = number
  default     = 512
  nullable    = false

  validation {
    condition     = var.catalog_memory >= 128 && var.catalog_memory <= 10240
    error_message = "catalog_memory must be from 128 to 10240."
  }
}

variable "catalog_schedule" {
  description = "When instance types, offerings and prices of the region are looked up."
  type        = string
  default     = "rate(1 hour)"
  nullable    = false

  validation {
    condition     = can(regex("^rate\\((1 minute|([2-9]|[1-5][0-9]) minutes|1 hour|([2-9]|1[0-9]|2[0-4]) hours)\\)$", var.catalog_schedule))
    error_message = "catalog_schedule must be rate(1 minute), up to rate(59 minutes), or rate(1 hour), up to rate(24 hours)."
  }
}

variable "cluster_name" {
  description = "The EKS cluster. The installation's parameter ClusterNames must hold it, by name or by a pattern."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[0-9A-Za-z][0-9A-Za-z_-]{0,99}$", var.cluster_name))
    error_message = "cluster_name must be the name of an EKS cluster."
  }
}

variable "cluster_names" {
  description = "The EKS clusters that the functions may act for, in any order, by name or by patterns such as team-*. Each cluster gets schedules, access entries, alarms and a dashboard from a stack of infra/cluster.yaml."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for each in var.cluster_names : can(regex("^[0-9A-Za-z*][0-9A-Za-z_*-]{0,99}$", each))])
    error_message = "cluster_names must be names of EKS clusters, separated by commas and no blanks; * stands for any letters."
  }
}

variable "code_bucket" {
  description = "The S3 bucket of this region that holds the code of functions, from the release 0.1.0."
  type        = string
  nullable    = false

  validation {
    condition     = can(regex("^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$", var.code_bucket))
    error_message = "code_bucket must be the name of an S3 bucket."
  }
}

variable "code_prefix" {
  description = "What the key of the code begins with, before outrigger-0.1.0-functions-ARCHITECTURE.zip; a slash at its end is not added."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9!_.*'()/-]*$", var.code_prefix))
    error_message = "code_prefix must be letters, digits and ! _ . * ' ( ) / -."
  }
}

variable "disable_dry_run" {
  description = "With true, EC2NodeClasses count as ready without a dry run of the launches that they ask for."
  type        = bool
  default     = false
  nullable    = false
}

variable "disruption_schedule" {
  description = "When the function disruption runs for the cluster."
  type        = string
  default     = "rate(1 minute)"
  nullable    = false

  validation {
    condition     = can(regex("^rate\\((1 minute|([2-9]|[1-5][0-9]) minutes|1 hour|([2-9]|1[0-9]|2[0-4]) hours)\\)$", var.disruption_schedule))
    error_message = "disruption_schedule must be rate(1 minute), up to rate(59 minutes), or rate(1 hour), up to rate(24 hours)."
  }
}

variable "existing_table_name" {
  description = "A table of this account and region to use instead of one that this stack makes: a restored one, for example (docs/operate.md). One that the stack has made before stays, outside the stack."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^([a-zA-Z0-9_.-]{3,255})?$", var.existing_table_name))
    error_message = "existing_table_name must be the name of a DynamoDB table, or empty."
  }
}

variable "feature_gates" {
  description = "Features whose switch differs from its default, such as SpotToSpotConsolidation=true,NodeRepair=true."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^([A-Za-z]+=(true|false)(,[A-Za-z]+=(true|false))*)?$", var.feature_gates))
    error_message = "feature_gates must be NAME=true or NAME=false, separated by commas, or empty."
  }
}

variable "function_memory" {
  description = "Memory in MB of the functions that read a cluster."
  type        = number
  default     = 512
  nullable    = false

  validation {
    condition     = var.function_memory >= 128 && var.function_memory <= 10240
    error_message = "function_memory must be from 128 to 10240."
  }
}

variable "launch_templates_only" {
  description = "Whether functions may launch only images, snapshots, reservations and placement groups that one of their launch templates names (ec2:IsLaunchTemplateResource). false is for an account where EC2 denies every launch for want of that."
  type        = bool
  default     = true
  nullable    = false
}

variable "lifecycle_schedule" {
  description = "When the function lifecycle runs for the cluster."
  type        = string
  default     = "rate(1 minute)"
  nullable    = false

  validation {
    condition     = can(regex("^rate\\((1 minute|([2-9]|[1-5][0-9]) minutes|1 hour|([2-9]|1[0-9]|2[0-4]) hours)\\)$", var.lifecycle_schedule))
    error_message = "lifecycle_schedule must be rate(1 minute), up to rate(59 minutes), or rate(1 hour), up to rate(24 hours)."
  }
}

variable "log_level" {
  description = "How much the functions log."
  type        = string
  default     = "info"
  nullable    = false

  validation {
    condition     = contains(["error", "warn", "info", "debug", "trace"], var.log_level)
    error_message = "log_level must be error, warn, info, debug or trace."
  }
}

variable "log_retention_days" {
  description = "How many days logs are kept."
  type        = number
  default     = 30
  nullable    = false

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653], var.log_retention_days)
    error_message = "log_retention_days must be a number of days that CloudWatch Logs knows."
  }
}

variable "manage_instance_profiles" {
  description = "Whether the function lifecycle may make instance profiles for EC2NodeClasses that name a role. With false it may not touch IAM, and every EC2NodeClass has to name an instanceProfile."
  type        = bool
  default     = true
  nullable    = false
}

variable "max_hourly_usd" {
  description = "A fuse, for each cluster. Nothing is launched that would bring all its instances above so many dollars an hour. 0 is no bound."
  type        = number
  default     = 1000
  nullable    = false

  validation {
    condition     = var.max_hourly_usd >= 0 && var.max_hourly_usd <= 1000000
    error_message = "max_hourly_usd must be from 0 to 1000000."
  }
}

variable "max_launches_per_hour" {
  description = "A fuse, for each cluster. The most launches in an hour; a fifth is kept for replacements of interrupted nodes."
  type        = number
  default     = 500
  nullable    = false

  validation {
    condition     = var.max_launches_per_hour >= 1 && var.max_launches_per_hour <= 100000
    error_message = "max_launches_per_hour must be from 1 to 100000."
  }
}

variable "max_launches_per_tick" {
  description = "A fuse, for each cluster. The most launches in a calendar minute; what is above waits for the next."
  type        = number
  default     = 100
  nullable    = false

  validation {
    condition     = var.max_launches_per_tick >= 1 && var.max_launches_per_tick <= 10000
    error_message = "max_launches_per_tick must be from 1 to 10000."
  }
}

variable "max_terminations_per_tick_percent" {
  description = "A fuse, for each cluster. Of its instances, the share that may begin to end in a calendar minute, in percent; five always may."
  type        = number
  default     = 20
  nullable    = false

  validation {
    condition     = var.max_terminations_per_tick_percent >= 0 && var.max_terminations_per_tick_percent <= 100
    error_message = "max_terminations_per_tick_percent must be from 0 to 100."
  }
}

variable "metrics_detail" {
  description = "essential: what alarms and a first look need is made a metric, most of it only while it is not zero; the rest stands in the logs. all: everything, and alarms about the errors and throttles of each function besides. CloudWatch charges both by the piece."
  type        = string
  default     = "essential"
  nullable    = false

  validation {
    condition     = contains(["essential", "all"], var.metrics_detail)
    error_message = "metrics_detail must be essential or all."
  }
}

variable "metrics_namespace" {
  description = "The CloudWatch namespace of metrics."
  type        = string
  default     = "Outrigger"
  nullable    = false

  validation {
    condition     = can(regex("^[A-Za-z0-9._/#-]{1,255}$", var.metrics_namespace))
    error_message = "metrics_namespace must be letters, digits and . _ /."
  }
}

variable "min_values_policy" {
  description = "Whether a NodePool whose minValues cannot be met launches nothing, or with as many values as there are."
  type        = string
  default     = "Strict"
  nullable    = false

  validation {
    condition     = contains(["Strict", "BestEffort"], var.min_values_policy)
    error_message = "min_values_policy must be Strict or BestEffort."
  }
}

variable "mode" {
  description = "Active: functions do what they plan. Observe: functions plan, write events, metrics and a stored plan, and change nothing. outrigger observe, pause and resume say it of one cluster, without a deployment."
  type        = string
  default     = "Active"
  nullable    = false

  validation {
    condition     = contains(["Active", "Observe"], var.mode)
    error_message = "mode must be Active or Observe."
  }
}

variable "other_node_role_arns" {
  description = "ARNs of further roles that nodes may have, beside those of infra/nodes.yaml: the role of nodes that Karpenter launched, for example."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for each in var.other_node_role_arns : can(regex("^(arn:aws[a-z-]*:iam::[0-9]{12}:role/[\\w+=,.@/-]+)?$", each))])
    error_message = "other_node_role_arns must be ARNs of IAM roles, separated by commas, or empty."
  }
}

variable "pod_wait_seconds_max" {
  description = "An alarm is raised when a pod waits for a node for longer than so many seconds."
  type        = number
  default     = 600
  nullable    = false

  validation {
    condition     = var.pod_wait_seconds_max >= 60 && var.pod_wait_seconds_max <= 86400
    error_message = "pod_wait_seconds_max must be from 60 to 86400."
  }
}

variable "preference_policy" {
  description = "Whether preferences of pods (preferred affinity, ScheduleAnyway) count."
  type        = string
  default     = "Respect"
  nullable    = false

  validation {
    condition     = contains(["Respect", "Ignore"], var.preference_policy)
    error_message = "preference_policy must be Respect or Ignore."
  }
}

variable "provisioning_schedule" {
  description = "When the function provisioning runs for the cluster, and in watch mode the function watcher, which stays for up to a minute."
  type        = string
  default     = "rate(1 minute)"
  nullable    = false

  validation {
    condition     = can(regex("^rate\\((1 minute|([2-9]|[1-5][0-9]) minutes|1 hour|([2-9]|1[0-9]|2[0-4]) hours)\\)$", var.provisioning_schedule))
    error_message = "provisioning_schedule must be rate(1 minute), up to rate(59 minutes), or rate(1 hour), up to rate(24 hours)."
  }
}

variable "reaction_mode" {
  description = "watch: the function watcher stays from one tick to the next, and pods that wait are acted upon within a second. tick: provisioning wakes itself every five seconds to look for them, which costs little more than half of that. poll: functions look once a minute. The stack of a cluster may say otherwise, but where this one says poll no message wakes a function, and Lambda asks no queue for any."
  type        = string
  default     = "tick"
  nullable    = false

  validation {
    condition     = contains(["watch", "tick", "poll"], var.reaction_mode)
    error_message = "reaction_mode must be watch, tick or poll."
  }
}

variable "reserved_enis" {
  description = "Network interfaces of each instance whose addresses pods do not get (custom networking takes one)."
  type        = number
  default     = 0
  nullable    = false

  validation {
    condition     = var.reserved_enis >= 0 && var.reserved_enis <= 14
    error_message = "reserved_enis must be from 0 to 14."
  }
}

variable "security_group_ids" {
  description = "Security groups for the functions, with SubnetIds. The cluster's own group must let them in on port 443."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for each in var.security_group_ids : can(regex("^(sg-[0-9a-f]{8,17})?$", each))])
    error_message = "security_group_ids must be ids of security groups, separated by commas, or empty."
  }
}

variable "subnet_ids" {
  description = "Subnets for the functions, where the endpoint of a cluster is private. They need a way to EC2, DynamoDB, EKS, IAM, SSM and the price list (a NAT gateway, or VPC endpoints). Empty runs them outside a VPC."
  type        = list(string)
  default     = []
  nullable    = false

  validation {
    condition     = alltrue([for each in var.subnet_ids : can(regex("^(subnet-[0-9a-f]{8,17})?$", each))])
    error_message = "subnet_ids must be ids of subnets, separated by commas, or empty."
  }
}

variable "table_deletion_protection" {
  description = "Whether the table that this stack makes is protected from deletion. It says which instance belongs to which claim."
  type        = bool
  default     = true
  nullable    = false
}

variable "table_kms_key_arn" {
  description = "The KMS key that encrypts the table; for an existing table, the one that does already. Empty leaves it to DynamoDB's key in the account."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[0-9A-Za-z-]+)?$", var.table_kms_key_arn))
    error_message = "table_kms_key_arn must be the ARN of a KMS key, not of an alias, or empty."
  }
}

variable "vm_memory_overhead_percent" {
  description = "The share of an instance's memory that pods never get, for the hypervisor."
  type        = number
  default     = 0.075
  nullable    = false

  validation {
    condition     = var.vm_memory_overhead_percent >= 0 && var.vm_memory_overhead_percent <= 0.999
    error_message = "vm_memory_overhead_percent must be a share of one, such as 0.075."
  }
}

variable "vpc_id" {
  description = "The only VPC that functions may launch nodes into. Empty allows those of all clusters, which may be in several."
  type        = string
  default     = ""
  nullable    = false

  validation {
    condition     = can(regex("^(vpc-[0-9a-f]{8,17})?$", var.vpc_id))
    error_message = "vpc_id must be the id of a VPC, or empty."
  }
}

variable "watcher_memory" {
  description = "Memory in MB of the function watcher, which stays in watch mode and knows pods without a node."
  type        = number
  default     = 128
  nullable    = false

  validation {
    condition     = var.watcher_memory >= 128 && var.watcher_memory <= 10240
    error_message = "watcher_memory must be from 128 to 10240."
  }
}

locals {
  parameters = {
    CodeBucket                    = var.code_bucket
    CodePrefix                    = var.code_prefix
    Architecture                  = var.architecture
    ManageInstanceProfiles        = tostring(var.manage_instance_profiles)
    Mode                          = var.mode
    MaxLaunchesPerTick            = tostring(var.max_launches_per_tick)
    MaxLaunchesPerHour            = tostring(var.max_launches_per_hour)
    MaxTerminationsPerTickPercent = tostring(var.max_terminations_per_tick_percent)
    MaxHourlyUsd                  = tostring(var.max_hourly_usd)
    VpcId                         = var.vpc_id
    LaunchTemplatesOnly           = tostring(var.launch_templates_only)
    ReactionMode                  = var.reaction_mode
    FeatureGates                  = var.feature_gates
    PreferencePolicy              = var.preference_policy
    MinValuesPolicy               = var.min_values_policy
    VmMemoryOverheadPercent       = tostring(var.vm_memory_overhead_percent)
    ReservedEnis                  = tostring(var.reserved_enis)
    DisableDryRun                 = tostring(var.disable_dry_run)
    CatalogSchedule               = var.catalog_schedule
    FunctionMemory                = tostring(var.function_memory)
    WatcherMemory                 = tostring(var.watcher_memory)
    CatalogMemory                 = tostring(var.catalog_memory)
    SubnetIds                     = join(",", var.subnet_ids)
    SecurityGroupIds              = join(",", var.security_group_ids)
    LogLevel                      = var.log_level
    LogRetentionDays              = tostring(var.log_retention_days)
    MetricsNamespace              = var.metrics_namespace
    MetricsDetail                 = var.metrics_detail
    AlarmTopicArn                 = var.alarm_topic_arn
    ExistingTableName             = var.existing_table_name
    TableKmsKeyArn                = var.table_kms_key_arn
    TableDeletionProtection       = tostring(var.table_deletion_protection)
  }
}
