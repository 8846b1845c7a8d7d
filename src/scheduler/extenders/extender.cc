#include "scheduler/extenders/extender.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/result.h"
#include "base/strings.h"

namespace porthole::scheduler {

namespace {

namespace core = api::core::v1;
using namespace extender_messages;

/// An answer may be this long, and as long again as twice the request, which may have objects that the answer repeats.
constexpr std::size_t ShortAnswerBytes = 1 << 20;
/// The best score that extenders give by convention; upstream scales it to MaxScore.
constexpr std::int64_t MaxExtenderScore = 10;
/// Scores and weights beyond it are mistakes, and their sums might overflow.
constexpr std::int64_t MostScore = 1'000'000;

bool names_any(const std::vector<core::Container>& containers, const std::vector<std::string>& resources) {
    const auto is_managed = [&](const auto& amount) { return std::ranges::find(resources, amount.first) != resources.end(); };
    return std::ranges::any_of(containers, [&](const core::Container& container) {
        return std::ranges::any_of(container.resources.requests, is_managed) || std::ranges::any_of(container.resources.limits, is_managed);
    });
}

}  // namespace

bool Extender::concerns(const core::Pod& pod) const {
    const auto& managed = configuration_.managed_resources;
    return managed.empty() || names_any(pod.spec.containers, managed) || names_any(pod.spec.init_containers, managed);
}

std::string Extender::request(const ApiPod& pod, const std::vector<std::string>& names, const std::vector<ApiNode>& nodes) const {
    return configuration_.node_cache_capable ? nodes_request(*pod, names) : nodes_request(*pod, nodes);
}

Task<FilterAnswer> Extender::filter(ApiPod pod, std::vector<std::string> names, std::vector<ApiNode> nodes) {
    CO_TRY(const std::string body, co_await call(configuration_.filter_verb, request(pod, names, nodes)));
    CO_TRY(FilterAnswer answer, parse_filter_answer(body, configuration_.node_cache_capable));
    // Differs from Kubernetes: also where the extender returns objects of nodes.
    const std::set<std::string_view> asked(names.begin(), names.end());
    for (const std::string& name : answer.accepted) {
        if (!asked.contains(name))
            co_return Error(Reason::InternalError, "extender " + quote(configuration_.url_prefix) + " claims a filtered node " +
                                                       quote(name) + " which is not found in the input node list");
    }
    co_return answer;
}

Task<std::vector<std::pair<std::string, std::int64_t>>> Extender::prioritize(ApiPod pod, std::vector<std::string> names,
                                                                             std::vector<ApiNode> nodes) {
    CO_TRY(const std::string body, co_await call(configuration_.prioritize_verb, request(pod, names, nodes)));
    CO_TRY(auto scores, parse_scores(body));
    const std::int64_t factor = std::min(configuration_.weight, MostScore) * (MaxScore / MaxExtenderScore);
    for (auto& [node, score] : scores) score = std::clamp(score, -MostScore, MostScore) * factor;
    co_return scores;
}

Task<> Extender::bind(PodRef pod, std::string node) {
    CO_TRY(const std::string body, co_await call(configuration_.bind_verb, binding_request(*pod, node)));
    co_return parse_binding_answer(body);
}

Task<std::vector<MetaVictims>> Extender::preempt(ApiPod pod, std::vector<PreemptionCandidate> candidates,
                                                 std::vector<std::vector<ApiPod>> victims) {
    std::string request = preemption_request(*pod, candidates, configuration_.node_cache_capable ? nullptr : &victims);
    CO_TRY(const std::string body, co_await call(configuration_.preempt_verb, std::move(request)));
    co_return parse_preemption_answer(body);
}

Task<std::string> Extender::call(std::string verb, std::string body) {
    std::string url = configuration_.url_prefix;
    while (url.ends_with('/')) url.pop_back();
    url += "/" + verb;
    const std::size_t most = ShortAnswerBytes + 2 * body.size();
    auto answer = co_await transport_->post(verb, std::move(body), most);
    if (is_cancelled(answer)) co_return std::move(answer).error();
    if (!answer) {
        const std::string why = answer.error().reason == Reason::Timeout ? "context deadline exceeded" : answer.error().message;
        co_return Error(answer.error().reason, "Post " + quote(url) + ": " + why);
    }
    if (answer->code != 200)
        co_return Error(Reason::InternalError,
                        "failed " + verb + " with extender at URL " + url + ", code " + std::to_string(answer->code));
    co_return std::move(answer->body);
}

}  // namespace porthole::scheduler
