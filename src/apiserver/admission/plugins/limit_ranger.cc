#include <functional>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "base/strings.h"
#include "objects/pod_resources.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using Resources = std::map<std::string, Quantity>;

/// "cpu request for container a", "memory limit for container b": what was filled in, for the pod's annotation.
void fill(Resources& resources, const Resources& defaults, const char* what, const std::string& container,
          std::vector<std::string>& filled) {
    for (const auto& [name, quantity] : defaults) {
        if (resources.try_emplace(name, quantity).second) filled.push_back(name + " " + what + " for container " + container);
    }
}

/// The defaults of an item of type Container: a missing request takes the limit's place where only that is given.
void apply_defaults(Container& container, const LimitRangeItem& item, const char* kind, std::vector<std::string>& filled) {
    const std::string label = std::string(kind) + container.name;
    Resources requests = item.default_request;
    for (const auto& [name, limit] : container.resources.limits) {
        if (container.resources.limits.contains(name) && !container.resources.requests.contains(name)) requests[name] = limit;
    }
    fill(container.resources.requests, requests, "request", label, filled);
    fill(container.resources.limits, item.default_, "limit", label, filled);
}

const Quantity* find(const Resources& resources, const std::string& name) {
    const auto found = resources.find(name);
    return found == resources.end() ? nullptr : &found->second;
}

/// The bounds of one item on what one container, pod or claim asks for: a sentence about each that is broken. Claims have no limits.
void check_bounds(const LimitRangeItem& item, const Resources& requests, const Resources& limits, std::vector<std::string>& broken) {
    const bool is_claim = item.type == "PersistentVolumeClaim";
    for (const auto& [name, minimum] : item.min) {
        const std::string rule = "minimum " + name + " usage per " + item.type + " is " + minimum.to_string();
        const Quantity* request = find(requests, name);
        const Quantity* limit = find(limits, name);
        if (!request) {
            broken.push_back(rule + ".  No request is specified");
        } else if (*request < minimum) {
            broken.push_back(rule + ", but request is " + request->to_string());
        } else if (limit && *limit < minimum) {
            broken.push_back(rule + ", but limit is " + limit->to_string());
        }
    }
    for (const auto& [name, maximum] : item.max) {
        const std::string rule = "maximum " + name + " usage per " + item.type + " is " + maximum.to_string();
        const Quantity* request = find(requests, name);
        const Quantity* limit = find(limits, name);
        if (!limit && !is_claim) {
            broken.push_back(rule + ".  No limit is specified");
        } else if (!request && is_claim) {
            broken.push_back(rule + ".  No request is specified");
        } else if (limit && *limit > maximum) {
            broken.push_back(rule + ", but limit is " + limit->to_string());
        } else if (request && *request > maximum) {
            broken.push_back(rule + ", but request is " + request->to_string());
        }
    }
    for (const auto& [name, ratio] : item.max_limit_request_ratio) {
        const Quantity* request = find(requests, name);
        const Quantity* limit = find(limits, name);
        const std::string rule = name + " max limit to request ratio per " + item.type + " is " + ratio.to_string();
        if (!request || !limit || request->is_zero()) {
            broken.push_back(rule + ", but no request is specified or request is 0");
        } else if (const double actual = limit->as_double() / request->as_double(); actual > ratio.as_double()) {
            char text[32];
            std::snprintf(text, sizeof text, "%f", actual);
            broken.push_back(rule + ", but provided ratio is " + text);
        }
    }
}

class LimitRanger final : public AdmissionPlugin {
public:
    explicit LimitRanger(const ObjectReader& reader) : reader_(reader) {}
    std::string_view name() const override { return "LimitRanger"; }
    bool handles(const AdmissionAttributes& attributes) const override {
        return attributes.is("", "pods") || attributes.is("", "persistentvolumeclaims");
    }

    Task<> admit(AdmissionAttributes& attributes) override {
        if (!is_new_pod(attributes)) co_return {};
        CO_TRY(const auto ranges, reader_.list<LimitRange>(attributes.namespace_));
        std::vector<std::string> filled;
        for (const auto& range : ranges) {
            Pod& pod = attributes.object->edit<Pod>();
            for (const LimitRangeItem& item : range->spec.limits) {
                if (item.type != "Container") continue;
                for (Container& container : pod.spec.containers) apply_defaults(container, item, "", filled);
                for (Container& container : pod.spec.init_containers) apply_defaults(container, item, "init ", filled);
            }
        }
        if (!filled.empty()) {
            attributes.object->edit<Pod>().metadata.annotations["kubernetes.io/limit-ranger"] =
                "LimitRanger plugin set: " + join(filled, "; ");
        }
        co_return {};
    }

    Task<> validate(const AdmissionAttributes& attributes) override {
        const bool claim = attributes.is("", "persistentvolumeclaims") && attributes.subresource.empty() && attributes.object;
        if (!is_new_pod(attributes) && !is_resize(attributes) && !claim) co_return {};
        CO_TRY(const auto ranges, reader_.list<LimitRange>(attributes.namespace_));
        std::vector<std::string> broken;
        for (const auto& range : ranges) {
            for (const LimitRangeItem& item : range->spec.limits) check(*attributes.object, item, broken);
        }
        if (broken.empty()) co_return {};
        co_return admission_forbidden(attributes, broken.size() == 1 ? broken[0] : "[" + join(broken, ", ") + "]");
    }

private:
    static bool is_new_pod(const AdmissionAttributes& attributes) {
        return attributes.is("", "pods") && attributes.subresource.empty() && attributes.operation == AdmissionOperation::Create;
    }
    static bool is_resize(const AdmissionAttributes& attributes) {
        return attributes.is("", "pods") && attributes.subresource == "resize" && attributes.object;
    }
    static void check(const ApiObject& object, const LimitRangeItem& item, std::vector<std::string>& broken) {
        if (object.is<PersistentVolumeClaim>()) {
            if (item.type == "PersistentVolumeClaim") {
                const auto& resources = object.view<PersistentVolumeClaim>().spec.resources;
                check_bounds(item, resources.requests, {}, broken);
            }
            return;
        }
        const PodSpec& spec = object.view<Pod>().spec;
        if (item.type == "Pod") {
            // Upstream leaves overhead out of it.
            using objects::Overhead;
            check_bounds(item, objects::pod_requests(spec, Overhead::Excluded), objects::pod_limits(spec, Overhead::Excluded), broken);
        } else if (item.type == "Container") {
            for (const auto* containers : {&spec.containers, &spec.init_containers}) {
                for (const Container& container : *containers) {
                    check_bounds(item, container.resources.requests, container.resources.limits, broken);
                }
            }
        }
    }
    const ObjectReader& reader_;
};

}  // namespace

AdmissionPluginPtr make_limit_ranger(const AdmissionDependencies& given) { return std::make_unique<LimitRanger>(given.reader); }

}  // namespace porthole::apiserver
