// What a fleet reads: pods of a server, and a user's stages.
#include "fleet/fleet_pod.h"
#include "fleet/stages.h"
#include "fuzz_target.h"
#include "schema/json/json.h"

using namespace porthole;
using namespace porthole::fuzz;

FUZZ_TARGET(fleet_pod_fuzz) {
    const auto whole = fleet::decode_whole_fleet_pod(text);
    const auto usual = fleet::decode_fleet_pod(text);
    expect(whole.has_value() == usual.has_value());
    if (!whole || !schema::parse_json(text)) return;
    // The text that is kept is of the same pod. Of what is not JSON it is whatever its slices are: they are read when a stage needs them.
    const auto& pod = *static_cast<const fleet::FleetPod*>(whole->object.get());
    const auto again = fleet::decode_whole_fleet_pod(pod.text);
    expect(again && again->key == whole->key);
}

FUZZ_TARGET(fleet_stages_fuzz) {
    auto stages = fleet::parse_stages(text);
    if (!stages) return;
    fleet::StageModel model(std::move(*stages));
    fleet::FleetPod pod;
    pod.uid = "u";
    pod.text =
        R"({"metadata":{"labels":{"a":"b"},"ownerReferences":[{"kind":"Job"}]},"spec":{"containers":[{"name":"c"}]},"status":{"phase":"Running"}})";
    const auto step = model.next(pod);
    if (!step) return;
    expect(step->delay >= Duration::zero());
    (void)model.perform(pod, step->name, {"198.18.0.1", [] { return std::optional<std::string>("10.1.0.2"); }}, SystemTime());
}

FUZZ_TARGET(fleet_template_fuzz) {
    const auto parsed = fleet::StageTemplate::parse(text);
    if (!parsed) return;
    const schema::Value object = *schema::parse_json(R"({"a":"b","l":[{"n":1},{"n":"x"}],"o":{"p":{"q":true}}})");
    (void)parsed->render(object, {"now", [] { return "node"; }, [] { return std::optional<std::string>("pod"); }});
}
