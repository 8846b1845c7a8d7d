#include "kubelet/api_objects.h"

#include <algorithm>

#include "api/authentication_v1.h"
#include "base/result.h"
#include "schema/json/json.h"

namespace porthole::kubelet {

using TokenRequest = api::authentication::v1::TokenRequest;

namespace {

std::size_t bytes_of(const std::map<std::string, std::string>& data) {
    constexpr std::size_t Overhead = 128;
    std::size_t bytes = Overhead;
    for (const auto& [key, value] : data) bytes += key.size() + value.size() + Overhead;
    return bytes;
}
std::size_t bytes_of(const core::ConfigMap& map) { return bytes_of(map.data) + bytes_of(map.binary_data); }
std::size_t bytes_of(const core::Secret& secret) { return bytes_of(secret.data); }

}  // namespace

template <class T>
Task<std::shared_ptr<const T>> ApiObjects::fetch(Cache<T>& cache, client::NamespacedName key) {
    // In the kubelet's words: by the singular.
    const auto not_found = [&key] { return Error(Reason::NotFound, std::string(T::kind().singular) + " \"" + key.name + "\" not found"); };
    sweep(cache);
    if (cache.missing.contains(key) && loop_.now() < cache.missing[key]) co_return not_found();
    if (const auto found = cache.entries.find(key); found != cache.entries.end() && loop_.now() - found->second.read < keep_)
        co_return found->second.object;
    auto object = co_await client_.get<T>(key);
    if (is_not_found(object)) {
        remember_missing(cache, key);
        co_return not_found();
    }
    if (!object) co_return std::move(object).error();
    auto shared = std::make_shared<const T>(std::move(*object));
    auto& entry = cache.entries[key];  // another task may have asked meanwhile
    cache.bytes -= entry.bytes;
    entry = {shared, bytes_of(*shared), loop_.now()};
    cache.bytes += entry.bytes;
    if (cache.bytes > MostBytes) {
        cache.bytes -= entry.bytes;
        cache.entries.erase(key);
    }
    co_return shared;
}

template <class T>
void ApiObjects::remember_missing(Cache<T>& cache, const client::NamespacedName& key) {
    constexpr Duration Each = std::chrono::milliseconds(10), Least = std::chrono::seconds(1), Most = std::chrono::seconds(30);
    constexpr std::size_t MostMissing = 100'000;
    if (cache.missing.size() < MostMissing || cache.missing.contains(key))
        cache.missing[key] = loop_.now() + std::clamp<Duration>(Each * static_cast<std::int64_t>(cache.missing.size()), Least, Most);
}

/// Not at each question: a pod may have thousands of them.
template <class T>
void ApiObjects::sweep(Cache<T>& cache) {
    if (loop_.now() < cache.next_sweep) return;
    cache.next_sweep = loop_.now() + std::chrono::seconds(1);
    std::erase_if(cache.entries, [&](const auto& item) {
        const bool is_old = loop_.now() - item.second.read >= keep_;
        if (is_old) cache.bytes -= item.second.bytes;
        return is_old;
    });
    std::erase_if(cache.missing, [&](const auto& item) { return loop_.now() >= item.second; });
}

Task<std::shared_ptr<const core::ConfigMap>> ApiObjects::config_map(std::string namespace_, std::string name) {
    return fetch<core::ConfigMap>(config_maps_, {std::move(namespace_), std::move(name)});
}

Task<std::shared_ptr<const core::Secret>> ApiObjects::secret(std::string namespace_, std::string name) {
    return fetch<core::Secret>(secrets_, {std::move(namespace_), std::move(name)});
}

Task<ServiceAccountToken> ApiTokens::token(std::shared_ptr<const core::Pod> pod, std::string audience, std::int64_t seconds) {
    using namespace std::chrono_literals;
    const std::string key = pod->metadata.uid + "/" + std::to_string(seconds) + "/" + audience;
    const auto held = tokens_.find(key);
    if (held != tokens_.end() && loop_.wall_now() < held->second.renew_at && loop_.now() < held->second.renew_by)
        co_return held->second.token;

    TokenRequest request;
    request.spec.expiration_seconds = seconds;
    if (!audience.empty()) request.spec.audiences = {audience};
    auto& bound = request.spec.bound_object_ref.emplace();
    bound.kind = "Pod";
    bound.api_version = "v1";
    bound.name = pod->metadata.name;
    bound.uid = pod->metadata.uid;
    const std::string account = pod->spec.service_account_name.empty() ? "default" : pod->spec.service_account_name;
    const std::string path = client::Client::path(core::ServiceAccount::kind(), {pod->metadata.namespace_, account}, "token");
    auto reply = co_await client_.post(path, schema::encode_json(request));
    if (!reply) {
        // An old token that still holds is better than none.
        const auto old = tokens_.find(key);
        if (old != tokens_.end() && loop_.now() < old->second.end) co_return old->second.token;
        co_return Error(reply.error().reason, "failed to fetch token: " + reply.error().message);
    }
    CO_TRY(const TokenRequest answer, schema::decode_json<TokenRequest>(**reply));
    Entry entry;
    entry.token.token = answer.status.token;
    entry.token.expires = answer.status.expiration_timestamp.to_system_time();
    const Duration life = std::chrono::seconds(std::clamp<std::int64_t>(answer.spec.expiration_seconds.value_or(seconds), 0, seconds));
    const Duration fresh = std::min<Duration>(life / 5 * 4, 24h);
    entry.renew_at = loop_.wall_now() + fresh;
    entry.renew_by = loop_.now() + fresh;
    entry.end = loop_.now() + life;
    tokens_[key] = entry;
    co_return entry.token;
}

void ApiTokens::forget_pod(const std::string& uid) {
    std::erase_if(tokens_, [&](const auto& item) { return item.first.starts_with(uid + "/"); });
}

}  // namespace porthole::kubelet
