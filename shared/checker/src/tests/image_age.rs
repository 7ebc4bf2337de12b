//! Images that are too young to launch from (`outrigger.dev/ami-min-age`).

use domain::Timestamp;
use domain::image_age::HeldBackImage;
use domain::node_class::ResolvedAmi;

use crate::Rule;
use crate::testing::*;

#[test]
fn nothing_is_launched_from_a_class_whose_images_are_all_too_young() {
    let world = |images: Vec<ResolvedAmi>| {
        let pool = pool();
        let mut class = testkit::node_class(&pool.template.node_class_ref.name);
        let until = Timestamp::MAX;
        class.image_age.held_back = vec![HeldBackImage { id: "ami-2".into(), until }];
        class.status.amis = images;
        let mut world = pooled([pod("p")]);
        world.objects.node_classes = vec![class];
        world
    };
    let launched = plan([claim("n", &["p"])]);
    let old = ResolvedAmi {
        id: "ami-1".into(),
        name: None,
        is_deprecated: false,
        requirements: Vec::new(),
    };
    allows(&world(vec![old]), &launched);
    breaks(&world(Vec::new()), &launched, &[Rule::ImageAge]);
}
