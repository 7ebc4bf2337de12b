config {
  # Modules of others cannot be fetched here.
  call_module_type = "local"
}

plugin "terraform" {
  enabled = true
  preset  = "all"
}

# It wants every variable in variables.tf: those that stand for parameters of templates have a file that is made.
rule "terraform_standard_module_structure" {
  enabled = false
}
