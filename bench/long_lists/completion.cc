#include "long_lists/completion.h"

#include <set>
#include <string>

#include "schema/yaml/yaml.h"

namespace porthole::long_lists {

using schema::Value;

namespace {

void name_volumes(Value& pod_spec, const Value& container, const char* list, const char* volume, std::set<std::string>& known) {
    const Value* uses = container.find(list);
    if (!uses || !uses->is_array()) return;
    for (const Value& use : uses->as_array()) {
        const std::string name(use.string_at({"name"}));
        if (!known.insert(name).second) continue;
        Value& volumes = *pod_spec.find("volumes");
        volumes.as_array().push_back(*schema::parse_yaml(volume));
        volumes.as_array().back()["name"] = name;
    }
}

/// What containers name is in the pod, and what asks for a member beside it has it.
void complete_pod(Value& spec) {
    // First, because what is found in an object moves when it grows.
    for (const char* list : {"volumes", "resourceClaims"})
        if (!spec[list].is_array()) spec[list] = Value::array();
    std::set<std::string> volumes, claims;
    for (const Value& volume : spec["volumes"].as_array()) volumes.insert(std::string(volume.string_at({"name"})));
    for (const Value& claim : spec["resourceClaims"].as_array()) claims.insert(std::string(claim.string_at({"name"})));
    for (const char* list : {"initContainers", "containers"}) {
        Value* containers = spec.find(list);
        if (!containers || !containers->is_array()) continue;
        for (Value& container : containers->as_array()) {
            name_volumes(spec, container, "volumeMounts", "{emptyDir: {}}", volumes);
            name_volumes(spec, container, "volumeDevices", "{persistentVolumeClaim: {claimName: a}}", volumes);
            if (container.find("restartPolicyRules")) container["restartPolicy"] = "Never";
            if (list == std::string_view("initContainers") && (container.find("livenessProbe") || container.find("readinessProbe")))
                container["restartPolicy"] = "Always";
            Value* resources = container.find("resources");
            if (!resources) continue;
            if (const Value* requests = resources->find("requests")) {
                const Value limits = *requests;
                merge((*resources)["limits"], limits);
            }
            if (const Value* used = resources->find("claims"))
                for (const Value& claim : used->as_array()) {
                    const std::string name(claim.string_at({"name"}));
                    if (!claims.insert(name).second) continue;
                    spec["resourceClaims"].as_array().push_back(Value::object({{"name", name}, {"resourceClaimName", "a"}}));
                }
        }
    }
}

/// The template of a workload has the labels that its selector asks for.
void label_template(Value& spec) {
    const Value* selector = spec.find("selector");
    Value* labels = spec.at_path({"template", "metadata", "labels"});
    if (!selector || !labels) return;
    const Value* wanted = selector->find("matchLabels");
    if (wanted) merge(*labels, *wanted);
    if (const Value* expressions = selector->find("matchExpressions"))
        for (const Value& one : expressions->as_array()) {
            const Value* values = one.find("values");
            (*labels)[one.string_at({"key"})] = values && !values->as_array().empty() ? values->as_array().front() : Value("b");
        }
}

}  // namespace

void merge(Value& into, const Value& from) {
    if (!from.is_object()) {
        into = from;
        return;
    }
    if (!into.is_object()) into = Value::object();
    for (const schema::Member& member : from.as_object()) merge(into[member.key], member.value);
}

void complete(Value& value) {
    if (value.is_array()) {
        for (Value& item : value.as_array()) complete(item);
        return;
    }
    if (!value.is_object()) return;
    for (schema::Member& member : value.as_object()) complete(member.value);
    if (value.find("containers")) complete_pod(value);
    if (value.find("template")) label_template(value);
    if ((value.find("matchLabelKeys") || value.find("mismatchLabelKeys")) && !value.find("labelSelector"))
        value["labelSelector"] = *schema::parse_yaml("{matchLabels: {a: b}}");
    if (Value* fields = value.find("matchFields"); fields && fields->is_array())
        for (Value& one : fields->as_array()) {
            one["key"] = "metadata.name";
            one["operator"] = "In";
            if (!one.find("values")) one["values"] = Value::array({"a"});
        }
}

}  // namespace porthole::long_lists
