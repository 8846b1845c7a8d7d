#include "controllers/horizontal_pod_autoscaler/metric_evaluator.h"

#include "base/result.h"
#include "base/strings.h"

namespace porthole::controllers {

using namespace api::autoscaling::v2;
using api::meta::v1::LabelSelector;

namespace {

/// As Go prints it, which upstream's texts show.
std::string go_text(const schema::Box<LabelSelector>& selector) {
    if (!selector) return "nil";
    std::string text = "&LabelSelector{MatchLabels:map[string]string{";
    for (const auto& [key, value] : selector->match_labels) text += key + ": " + value + ",";
    text += "},MatchExpressions:[]LabelSelectorRequirement{";
    for (const auto& one : selector->match_expressions)
        text += "LabelSelectorRequirement{Key:" + one.key + ",Operator:" + one.operator_ + ",Values:[" + join(one.values, " ") + "],},";
    return text + "},}";
}

Error with_prefix(const std::string& prefix, const Error& error) { return Error(error.reason, prefix + error.message); }

Quantity milli(std::int64_t value) { return Quantity::from_milli(value); }
Quantity amount_of(const std::string& resource, std::int64_t value) {
    return Quantity::from_milli(value, resource == "memory" ? Quantity::Format::BinarySi : Quantity::Format::DecimalSi);
}

std::string external_name(const MetricIdentifier& metric) {
    return "external metric " + metric.name + "(" + go_text(metric.selector) + ")";
}

}  // namespace

Task<MetricProposal> MetricEvaluator::evaluate(const MetricSpec& metric, const MetricTargetPods& target) {
    if (metric.resource) {
        CO_TRY(auto proposal, co_await resource(metric.resource->name, "", metric.resource->target, target));
        proposal.status.type = MetricSourceType::Resource;
        co_return proposal;
    }
    if (metric.container_resource) {
        const ContainerResourceMetricSource& source = *metric.container_resource;
        CO_TRY(auto proposal, co_await resource(source.name, source.container, source.target, target));
        proposal.status.type = MetricSourceType::ContainerResource;
        proposal.status.container_resource =
            ContainerResourceMetricStatus{.name = source.name, .current = proposal.status.resource->current, .container = source.container};
        proposal.status.resource.reset();
        co_return proposal;
    }
    if (metric.pods) co_return co_await pods(metric, target);
    if (metric.object) co_return co_await object(metric, target);
    if (metric.external) co_return co_await external(metric, target);
    co_return Error(Reason::BadRequest, "unknown metric source type \"" + metric.type + "\"");
}

Task<MetricProposal> MetricEvaluator::resource(const std::string& name, const std::string& container, const MetricTarget& wanted,
                                               const MetricTargetPods& target) {
    const bool by_average = wanted.average_value.has_value();
    const std::string prefix = "failed to get " + name + (by_average ? " usage: " : " utilization: ");
    if (!by_average && !wanted.average_utilization)
        co_return Error(Reason::BadRequest,
                        "invalid resource metric source: neither an average utilization target nor an average value "
                        "(usage) target was set");
    auto values = co_await metrics_.of_resource(target.namespace_, target.selector, name, container);
    if (is_cancelled(values)) co_return values.error();
    if (!values) co_return with_prefix(prefix + "unable to get metrics for resource " + name + ": ", values.error());
    const PodGroups groups = group_pods(target.pods, *values, name, rules_, loop_.wall_now());

    Result<Proposal> proposal = Proposal();
    if (by_average) {
        proposal = propose_by_average(target.spec_replicas, target.pods, groups, std::move(*values), wanted.average_value->milli_value(),
                                      target.tolerances);
    } else {
        const auto requests = requests_of(target.pods, name, container);
        if (!requests) co_return with_prefix(prefix, requests.error());
        proposal = propose_by_utilization(target.spec_replicas, target.pods, groups, std::move(*values), *requests,
                                          *wanted.average_utilization, target.tolerances);
    }
    if (!proposal) co_return with_prefix(prefix, proposal.error());
    MetricProposal result{.replicas = proposal->replicas};
    result.name = name + (by_average          ? " resource"
                          : container.empty() ? " resource utilization (percentage of request)"
                                              : " container resource utilization (percentage of request)");
    result.status.resource = ResourceMetricStatus{
        .name = name, .current = {.average_value = amount_of(name, proposal->usage), .average_utilization = proposal->utilization}};
    co_return result;
}

Task<MetricProposal> MetricEvaluator::pods(const MetricSpec& metric, const MetricTargetPods& target) {
    const PodsMetricSource& source = *metric.pods;
    if (!source.target.average_value) co_return Error(Reason::BadRequest, "invalid pods metric source: no average value target was set");
    auto values = co_await metrics_.of_pods(target.namespace_, target.selector, source.metric);
    if (is_cancelled(values)) co_return values.error();
    if (!values) co_return with_prefix("unable to get metric " + source.metric.name + ": ", values.error());
    const PodGroups groups = group_pods(target.pods, *values, "", rules_, loop_.wall_now());
    CO_TRY(const Proposal proposal, propose_by_average(target.spec_replicas, target.pods, groups, std::move(*values),
                                                       source.target.average_value->milli_value(), target.tolerances));
    MetricProposal result{.replicas = proposal.replicas, .name = "pods metric " + source.metric.name};
    result.status.type = MetricSourceType::Pods;
    result.status.pods = PodsMetricStatus{.metric = source.metric, .current = {.average_value = milli(proposal.usage)}};
    co_return result;
}

Task<MetricProposal> MetricEvaluator::object(const MetricSpec& metric, const MetricTargetPods& target) {
    const ObjectMetricSource& source = *metric.object;
    const bool by_value = source.target.type == MetricTargetType::Value && source.target.value;
    if (!by_value && !source.target.average_value)
        co_return Error(Reason::BadRequest, "invalid object metric source: neither a value target nor an average value target was set");
    const auto usage = co_await metrics_.of_object(target.namespace_, source.described_object, source.metric);
    if (is_cancelled(usage)) co_return usage.error();
    if (!usage)
        co_return with_prefix("unable to get metric " + source.metric.name + ": " + source.described_object.kind + " on " +
                                  target.namespace_ + " " + source.described_object.name + "/",
                              usage.error());
    MetricProposal result{.name = source.described_object.kind + " metric " + source.metric.name};
    result.status.type = MetricSourceType::Object;
    result.status.object = ObjectMetricStatus{.metric = source.metric, .described_object = source.described_object};
    MetricValueStatus& current = result.status.object->current;
    if (by_value) {
        CO_TRY(const Proposal proposal,
               propose_by_value(target.spec_replicas, target.pods, *usage, source.target.value->milli_value(), target.tolerances));
        result.replicas = proposal.replicas;
        current.value = milli(proposal.usage);
        co_return result;
    }
    const Proposal proposal =
        propose_by_share(target.status_replicas, *usage, source.target.average_value->milli_value(), target.tolerances);
    result.replicas = proposal.replicas;
    result.name = external_name(source.metric);  // upstream calls it so, too
    current.average_value = milli(proposal.usage);
    co_return result;
}

Task<MetricProposal> MetricEvaluator::external(const MetricSpec& metric, const MetricTargetPods& target) {
    const ExternalMetricSource& source = *metric.external;
    if (!source.target.average_value && !source.target.value)
        co_return Error(Reason::BadRequest, "invalid external metric source: neither a value target nor an average value target was set");
    const auto usage = co_await metrics_.external(target.namespace_, source.metric);
    if (is_cancelled(usage)) co_return usage.error();
    if (!usage)
        co_return with_prefix(
            "unable to get external metric " + target.namespace_ + "/" + source.metric.name + "/" + go_text(source.metric.selector) + ": ",
            usage.error());
    MetricProposal result{.name = external_name(source.metric)};
    result.status.type = MetricSourceType::External;
    result.status.external = ExternalMetricStatus{.metric = source.metric};
    MetricValueStatus& current = result.status.external->current;
    if (source.target.average_value) {
        const Proposal proposal =
            propose_by_share(target.status_replicas, *usage, source.target.average_value->milli_value(), target.tolerances);
        result.replicas = proposal.replicas;
        current.average_value = milli(proposal.usage);
        co_return result;
    }
    CO_TRY(const Proposal proposal,
           propose_by_value(target.spec_replicas, target.pods, *usage, source.target.value->milli_value(), target.tolerances));
    result.replicas = proposal.replicas;
    current.value = milli(proposal.usage);
    co_return result;
}

std::string failure_reason(const MetricSpec& metric) {
    if (metric.resource) return "FailedGetResourceMetric";
    if (metric.container_resource) return "FailedGetContainerResourceMetric";
    if (metric.pods) return "FailedGetPodsMetric";
    if (metric.object) return "FailedGetObjectMetric";
    if (metric.external) return "FailedGetExternalMetric";
    return "InvalidMetricSourceType";
}

std::string failure_summary(const MetricSpec& metric) {
    if (metric.resource) return "failed to get " + metric.resource->name + " resource metric value: ";
    if (metric.container_resource) return "failed to get " + metric.container_resource->container + " container metric value: ";
    if (metric.pods) return "failed to get pods metric value: ";
    if (metric.object) {
        const bool by_value = metric.object->target.type == MetricTargetType::Value;
        return "failed to get object metric value: " + (by_value ? "" : "failed to get " + metric.object->metric.name + " object metric: ");
    }
    if (!metric.external) return "";
    const std::string& name = metric.external->metric.name;
    return "failed to get " + name + " external metric value: failed to get " +
           (metric.external->target.average_value ? name + " external metric: " : "external metric " + name + ": ");
}

}  // namespace porthole::controllers
