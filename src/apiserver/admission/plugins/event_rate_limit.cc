#include <algorithm>
#include <limits>

#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/outgoing/config_object.h"
#include "base/lru_map.h"
#include "base/strings.h"

namespace porthole::apiserver {
namespace {

using api::core::v1::Event;

constexpr std::int64_t DefaultCacheSize = 4096, MostCacheSize = 1 << 20;

/// A bucket that `rate` tokens a second fill up to `size`.
struct Bucket {
    double tokens;
    MonotonicTime filled;

    bool take(double rate, double size, MonotonicTime now) {
        tokens = std::min(size, tokens + rate * std::chrono::duration<double>(now - filled).count());
        filled = now;
        if (tokens < 1) return false;
        tokens -= 1;
        return true;
    }
};

enum class LimitType { Server, Namespace, User, SourceAndObject };
struct TypeName {
    std::string_view name;
    LimitType type;
};
constexpr TypeName TypeNames[] = {{"Namespace", LimitType::Namespace},
                                  {"Server", LimitType::Server},
                                  {"SourceAndObject", LimitType::SourceAndObject},
                                  {"User", LimitType::User}};

std::string key_of(LimitType type, const AdmissionAttributes& attributes) {
    switch (type) {
        case LimitType::Server:
            return "";
        case LimitType::Namespace:
            return attributes.namespace_;
        case LimitType::User:
            return attributes.user.name;
        case LimitType::SourceAndObject:
            break;
    }
    if (!attributes.object || !attributes.object->is<Event>()) return "";
    const Event& event = attributes.object->view<Event>();
    const auto& object = event.involved_object;
    return event.source.component + event.source.host + object.kind + object.namespace_ + object.name + object.uid + object.api_version;
}

struct Limit {
    std::string name;
    LimitType type = LimitType::Server;
    double rate = 0, size = 0;
    LruMap<Bucket> buckets;
};

/// Holds no state of a request: the buckets belong to the server, and are not refilled when a later plugin refuses.
class EventRateLimit final : public AdmissionPlugin {
public:
    EventRateLimit(std::vector<Limit> limits, const Clock& clock) : limits_(std::move(limits)), clock_(clock) {}
    std::string_view name() const override { return "EventRateLimit"; }

    /// Differs from Kubernetes: events of events.k8s.io, which are the same objects, are counted as well.
    Task<> validate(const AdmissionAttributes& attributes) override {
        const bool writes = attributes.operation == AdmissionOperation::Create || attributes.operation == AdmissionOperation::Update;
        const bool event =
            attributes.kind.plural == "events" && (attributes.kind.group.empty() || attributes.kind.group == "events.k8s.io");
        if (!event || !writes || attributes.dry_run) co_return {};
        Result<void> answer;
        for (Limit& limit : limits_) {
            std::string key = key_of(limit.type, attributes);
            const MonotonicTime now = clock_.now();
            Bucket* bucket = limit.buckets.find(key);
            if (!bucket) bucket = &limit.buckets.put(key, {limit.size, now});
            if (!bucket->take(limit.rate, limit.size, now))
                answer = Error(Reason::TooManyRequests, "Too many requests: limit reached on type " + limit.name + " for key " + key);
        }
        co_return std::move(answer);
    }

private:
    std::vector<Limit> limits_;
    const Clock& clock_;
};

void parse_limit(ConfigObject& object, std::vector<Limit>& limits) {
    ConfigProblems& problems = object.problems();
    const std::string type = object.text("type");
    const auto found = std::ranges::find(TypeNames, type, &TypeName::name);
    if (found == std::end(TypeNames))
        problems.add(object.path_of("type"), "Unsupported value: " + quote(type) + ": supported values: " +
                                                 join(TypeNames, ", ", [](const TypeName& one) { return quote(one.name); }));
    const auto positive = [&](const char* field) {
        const std::int64_t number = object.integer(field);
        if (number <= 0 || number > std::numeric_limits<std::int32_t>::max())
            problems.add(object.path_of(field), "Invalid value: " + std::to_string(number) + ": must be positive");
        return number;
    };
    const std::int64_t burst = positive("burst"), qps = positive("qps"), cache = object.integer("cacheSize");
    if (type != "Server" && (cache < 0 || cache > MostCacheSize))
        problems.add(object.path_of("cacheSize"), "Invalid value: " + std::to_string(cache) + ": " +
                                                      (cache < 0 ? "must not be negative" : "must not be more than 1048576"));
    object.finish();
    if (!problems.empty()) return;
    const std::size_t most = type == "Server" ? 1 : static_cast<std::size_t>(cache == 0 ? DefaultCacheSize : cache);
    limits.push_back({type, found->type, static_cast<double>(qps), static_cast<double>(burst), LruMap<Bucket>(most)});
}

Result<std::vector<Limit>> parse_limits(const schema::Value& configuration) {
    ConfigProblems problems;
    ConfigObject root(configuration, "", problems);
    if (root.text("apiVersion") != "eventratelimit.admission.k8s.io/v1alpha1" || root.text("kind") != "Configuration")
        problems.add("", "must be of apiVersion eventratelimit.admission.k8s.io/v1alpha1 and kind Configuration");
    std::vector<Limit> limits;
    auto objects = root.objects("limits");
    if (objects.empty()) problems.add("limits", "Invalid value: null: must not be empty");
    for (ConfigObject& object : objects) parse_limit(object, limits);
    root.finish();
    TRY_VOID(problems.outcome("configuration"));
    return limits;
}

}  // namespace

Result<AdmissionPluginPtr> make_event_rate_limit(const AdmissionDependencies& given) {
    const schema::Value* configuration = given.configuration_of("EventRateLimit");
    if (!configuration) return Error(Reason::BadRequest, "needs a configuration: --admission-control-config-file");
    TRY(auto limits, parse_limits(*configuration));
    return std::make_unique<EventRateLimit>(std::move(limits), given.loop);
}

}  // namespace porthole::apiserver
