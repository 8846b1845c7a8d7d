#include "apiserver/resource_metrics/resource_metrics.h"

#include "api/metrics_v1beta1.h"
#include "apiserver/handlers/indentation.h"
#include "apiserver/handlers/reply.h"
#include "apiserver/request/options.h"
#include "apiserver/request/status.h"
#include "apiserver/resources/object_attributes.h"
#include "apiserver/storage/keys.h"
#include "apiserver/subresources/kubelet_target.h"
#include "base/strings.h"
#include "runtime/scope.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Node;
using api::core::v1::Pod;
using namespace api::metrics::v1beta1;

constexpr int IdleRounds = ResourceMetrics::IdleResolution / ResourceMetrics::Resolution;

Resource resource_of(const schema::Kind& kind) {
    Resource resource;
    resource.kind = resource.stored = &kind;
    resource.selectable = std::make_shared<const SelectableFields>();
    return resource;
}

/// "ns/x" of "/registry/pods/ns/x", "x" of "/registry/nodes/x".
std::string name_of(const store::Record& record, const schema::Kind& kind) { return record.key.substr(kind_prefix(kind).size()); }

std::map<std::string, Quantity> quantities_of(const Usage& usage) {
    return {{"cpu", Quantity::from_nano(static_cast<std::int64_t>(usage.cpu))},
            {"memory", Quantity::from_value(static_cast<std::int64_t>(usage.memory), Quantity::Format::BinarySi)}};
}

/// What it is called and how it is labeled, as the object whose metrics are shown.
template <class Metrics>
void describe(Metrics& metrics, const store::Record& record, std::int64_t time, Duration window, SystemTime now) {
    const ObjectAttributes& attributes = attributes_of(record);
    metrics.metadata.name = attributes.field("metadata.name");
    metrics.metadata.namespace_ = attributes.field("metadata.namespace");
    metrics.metadata.labels = attributes.labels();
    metrics.metadata.creation_timestamp = Timestamp(now);
    metrics.timestamp = Timestamp::from_nanoseconds(time);
    metrics.window = window;
}

}  // namespace

ResourceMetrics::ResourceMetrics(Seams seams)
    : seams_(std::move(seams)), nodes_(resource_of(NodeMetrics::kind())), pods_(resource_of(PodMetrics::kind())) {}

Task<> ResourceMetrics::run() {
    if (!seams_.connector) co_return {};
    for (int round = 0;; ++round) {
        const bool asked = asked_at_ && seams_.loop.now() - *asked_at_ < IdleAfter;
        if (asked || round % IdleRounds == 0) CO_TRY_VOID(co_await collect());
        CO_TRY_VOID(co_await seams_.loop.sleep(Resolution));
    }
}

Task<> ResourceMetrics::collect() {
    CO_TRY(const store::Range stored, seams_.store.range({.prefix = kind_prefix(Node::kind())}));
    std::vector<Task<KubeletSamples>> asked;
    for (const store::RecordPtr& record : stored.records) asked.push_back(ask(name_of(*record, Node::kind())));
    CO_TRY(auto answers, co_await when_all(std::move(asked)));
    std::map<std::string, KubeletSamples> round;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const std::string name = name_of(*stored.records[i], Node::kind());
        if (is_cancelled(answers[i])) co_return std::move(answers[i]).error();
        if (answers[i])
            round[name] = std::move(*answers[i]);
        else
            seams_.log.debug("a kubelet gives no metrics", {{"node", name}, {"error", answers[i].error().message}});
    }
    history_.add(round, Resolution);
    co_return {};
}

Task<KubeletSamples> ResourceMetrics::ask(std::string name) {
    CO_TRY(const Semaphore::Permit permit, co_await kubelets_.acquire());
    const store::RecordPtr record = seams_.store.get(object_key(Node::kind(), "", name));
    if (!record) co_return not_found(Node::kind(), name);
    CO_TRY(const Node node, schema::decode_json<Node>(*record->value.bytes()));
    CO_TRY(ConnectTarget target, kubelet_of(node));
    CO_TRY(const std::string text, co_await with_timeout(fetch(std::move(target)), KubeletTime, "metrics of a kubelet"));
    CO_TRY(KubeletSamples samples, parse_kubelet_samples(text, seams_.loop.wall_now().time_since_epoch().count()));
    std::erase_if(samples.pods, [&](const auto& pod) {
        const store::RecordPtr bound = seams_.store.get(kind_prefix(Pod::kind()) + pod.first);
        return !bound || attributes_of(*bound).field("spec.nodeName") != name || pod.second.size() > ContainersOfPod;
    });
    co_return samples;
}

Task<std::string> ResourceMetrics::fetch(ConnectTarget target) {
    CO_TRY(const auto body, co_await seams_.connector->open(std::move(target), {.method = "GET", .path = "/metrics/resource"}));
    if (body->code() != 200) co_return Error(Reason::ServiceUnavailable, "the kubelet answers " + std::to_string(body->code()));
    std::string text;
    for (;;) {
        CO_TRY(const auto piece, co_await body->next());
        if (!piece) co_return text;
        if (text.size() + piece->size() > AnswerBytes) co_return Error(Reason::RequestEntityTooLarge, "the kubelet's answer is too long");
        text += *piece;
    }
}

Task<> ResourceMetrics::nodes(RequestContext& context) {
    return serve(context, nodes_, Node::kind(), [this](const store::Record& record) { return node_metrics(record); });
}

Task<> ResourceMetrics::pods(RequestContext& context) {
    return serve(context, pods_, Pod::kind(), [this](const store::Record& record) { return pod_metrics(record); });
}

Task<> ResourceMetrics::serve(RequestContext& context, const Resource& shown, const schema::Kind& source, Shown show) {
    const RequestInfo& info = context.info;
    asked_at_ = seams_.loop.now();
    const Timestamp now(seams_.loop.wall_now());
    const std::string namespace_ = source.namespaced() ? info.namespace_ : "";
    if (info.verb == "watch") co_return verb_not_supported(*shown.kind, "watch");
    const bool of_namespace = source.namespaced() && namespace_.empty();
    if (info.verb == "get" && !of_namespace) {
        const store::RecordPtr record = seams_.store.get(object_key(source, namespace_, info.name));
        if (!record) co_return not_found(source, info.name);
        const store::Bytes metrics = show(*record);
        if (!metrics)
            co_return Error(Reason::NotFound, to_lower(shown.kind->kind) + "." + std::string(shown.kind->group) + " \"" +
                                                  name_of(*record, source) + "\" not found");
        co_return co_await reply_object(context, shown, 200, metrics, now);
    }
    if (info.verb != "list") co_return method_not_allowed();
    CO_TRY(OutputForm form, negotiate_output(context.request.headers.get("accept"), true, false));
    form.pretty = form.pretty || wants_indentation(context);
    CO_TRY(const IncludeObject include, parse_include_object(info.parameter("includeObject")));
    CO_TRY(const ListOptions options, parse_list_options(info));
    CO_TRY(const ObjectFilter filter, ObjectFilter::create(shown, options.label_selector, options.field_selector));
    const std::string prefix = namespace_.empty() ? kind_prefix(source) : namespace_prefix(source, namespace_);
    CO_TRY(const store::Range range,
           seams_.store.range({.prefix = prefix, .matches = [&](const store::Record& record) { return filter.matches(record); }}));
    Page page;
    for (const store::RecordPtr& record : range.records) {
        const store::Bytes metrics = show(*record);
        if (!metrics) continue;
        auto made = std::make_shared<store::Record>();
        made->value = metrics;
        page.records.push_back(std::move(made));
    }
    const std::string content_type = form.content_type();
    const ResponseEncoder encoder(shown, std::move(form), include, now);
    CO_TRY(std::vector<store::Bytes> body, co_await encoder.list(page));
    co_return co_await reply(context, 200, content_type, std::move(body));
}

store::Bytes ResourceMetrics::node_metrics(const store::Record& record) const {
    const auto usage = history_.node(name_of(record, Node::kind()));
    if (!usage) return nullptr;
    NodeMetrics metrics;
    describe(metrics, record, usage->time, usage->window, seams_.loop.wall_now());
    metrics.usage = quantities_of(usage->usage);
    return bytes_of(ApiObject::of(std::move(metrics)).to_json());
}

store::Bytes ResourceMetrics::pod_metrics(const store::Record& record) const {
    const auto usage = history_.pod(name_of(record, Pod::kind()));
    if (!usage) return nullptr;
    PodMetrics metrics;
    describe(metrics, record, usage->time, usage->window, seams_.loop.wall_now());
    for (const auto& [name, used] : usage->containers) metrics.containers.push_back({.name = name, .usage = quantities_of(used)});
    return bytes_of(ApiObject::of(std::move(metrics)).to_json());
}

}  // namespace porthole::apiserver
