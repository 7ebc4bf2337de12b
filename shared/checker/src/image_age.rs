//! Nothing is launched from an EC2NodeClass whose images are all too young.

use domain::label::AMI_MIN_AGE;

use crate::plan_index::PlanIndex;
use crate::report::Report;
use crate::violation::Rule;

/// Refuses claims of a class that holds back images and has none that is old enough.
pub(crate) fn check(index: &PlanIndex<'_>, report: &mut Report) {
    let classes = &index.cluster.snapshot.objects.node_classes;
    for planned in index.planned() {
        let Some(pool) = index.places[planned.place].pool else { continue };
        let name = &index.cluster.pools[pool].spec.template.node_class_ref.name;
        let Some(class) = classes.iter().find(|class| class.name == *name) else { continue };
        if !class.image_age.held_back.is_empty() && class.status.amis.is_empty() {
            let message =
                format!("all images of EC2NodeClass {name} are younger than {AMI_MIN_AGE}");
            report.add(Rule::ImageAge, &planned.claim.name, message);
        }
    }
}
