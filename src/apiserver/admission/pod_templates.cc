#include "apiserver/admission/pod_templates.h"

#include "api/apps_v1.h"
#include "api/batch_v1.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using api::batch::v1::CronJob;
using api::batch::v1::Job;

template <class... Kinds>
TemplateInside template_of_one(const ApiObject& object) {
    TemplateInside found;
    ((found = !found.pods && object.is<Kinds>() ? TemplateInside{&object.view<Kinds>().spec.template_, "spec.template"} : found), ...);
    return found;
}

}  // namespace

TemplateInside template_in(const ApiObject& object) {
    if (object.is<PodTemplate>()) return {&object.view<PodTemplate>().template_, "template"};
    if (object.is<CronJob>()) return {&object.view<CronJob>().spec.job_template.spec.template_, "spec.jobTemplate.spec.template"};
    if (object.is<ReplicationController>()) {
        const auto& wanted = object.view<ReplicationController>().spec.template_;
        return wanted ? TemplateInside{&*wanted, "spec.template"} : TemplateInside();
    }
    using namespace api::apps::v1;
    return template_of_one<ReplicaSet, Deployment, StatefulSet, DaemonSet, Job>(object);
}

}  // namespace porthole::apiserver
