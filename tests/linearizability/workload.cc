#include "linearizability/workload.h"

#include "api/core_v1.h"
#include "base/result.h"
#include "base/strings.h"

namespace porthole::linearizability {
namespace {

using api::core::v1::ConfigMap;
using client::NamespacedName;
using Kind = Operation::Kind;
using Outcome = Operation::Outcome;

constexpr const char* Label = "linearizability";

std::uint64_t revision_of(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 10); }

template <class T>
Outcome outcome_of(const Result<T>& result) {
    if (result) return Outcome::Done;
    switch (result.error().reason) {
        case Reason::NotFound:
            return Outcome::Absent;
        case Reason::AlreadyExists:
            return Outcome::Exists;
        case Reason::Conflict:
            return Outcome::Conflict;
        default:
            return Outcome::Unknown;
    }
}

}  // namespace

Workload::Workload(EventLoop& loop, std::vector<client::Client*> servers, Random& random, Options options)
    : loop_(loop), servers_(std::move(servers)), random_(random), options_(std::move(options)), done_by_server_(servers_.size()) {
    ours_.namespace_ = "default";
    ours_.label_selector = Label + ("=" + options_.name);
}

ConfigMap Workload::config_map(const Operation& operation) const {
    ConfigMap map;
    map.metadata.namespace_ = "default";
    map.metadata.name = operation.key;
    map.metadata.labels[Label] = options_.name;
    map.data["value"] = operation.value;
    if (operation.expected) map.metadata.resource_version = std::to_string(operation.expected);
    return map;
}

void Workload::start() {
    for (int i = 0; i < options_.writers; ++i) writers_.spawn(write(i));
    for (int i = 0; i < options_.watchers; ++i) watchers_.spawn(follow());
}

Task<> Workload::write(int number) {
    std::map<std::string, std::uint64_t> known;
    while (!finishing_) {
        Task<> next = random_.below(8) == 0 ? list(number) : operate(number, known);
        CO_TRY_VOID(co_await std::move(next));
        CO_TRY_VOID(co_await loop_.sleep(options_.pause * static_cast<int>(random_.below(100)) / 50));
    }
    co_return {};
}

Task<> Workload::operate(int number, std::map<std::string, std::uint64_t>& known) {
    Operation operation{.client = number, .kind = static_cast<Kind>(random_.below(4)), .key = {}, .value = {}};
    operation.key = options_.name + "-" + std::to_string(random_.below(static_cast<std::uint64_t>(options_.keys)));
    const bool writes = operation.kind == Kind::Create || operation.kind == Kind::Update;
    if (writes) operation.value = "v" + std::to_string(++next_value_);
    if (operation.kind != Kind::Create && operation.kind != Kind::Get && random_.below(4)) operation.expected = known[operation.key];
    operation.invoked = now();
    const NamespacedName name{"default", operation.key};
    client::Client& server = server_of(number);

    Result<ConfigMap> answer = Error(Reason::Unknown, "");
    if (operation.kind == Kind::Delete) {
        client::DeleteOptions options;
        if (operation.expected) options.resource_version = std::to_string(operation.expected);
        const Result<void> removed = co_await server.remove<ConfigMap>(name, options);
        if (removed) {
            answer = ConfigMap();
        } else {
            answer = removed.error();
        }
    } else if (operation.kind == Kind::Get) {
        answer = co_await server.get<ConfigMap>(name);
    } else {
        Task<ConfigMap> asked =
            operation.kind == Kind::Create ? server.create(config_map(operation)) : server.update(config_map(operation));
        answer = co_await std::move(asked);
    }
    operation.outcome = dying_ ? Outcome::Unknown : outcome_of(answer);
    if (operation.outcome != Outcome::Unknown) {
        operation.returned = now();
        ++done_;
        if (stays(number)) ++done_by_server_[home(number)];
    }
    if (operation.outcome == Outcome::Done && operation.kind != Kind::Delete) {
        operation.revision = known[operation.key] = revision_of(answer->metadata.resource_version);
        if (operation.kind == Kind::Get) operation.value = answer->data["value"];
    }
    const bool unanswered = operation.outcome == Outcome::Unknown;
    history_.operations.push_back(std::move(operation));
    if (is_cancelled(answer)) co_return answer.error();
    if (unanswered) co_return co_await wait_for_server(number);
    co_return {};
}

/// Requests without an answer make histories that take long to check, so nothing is asked while nobody answers.
Task<> Workload::wait_for_server(int number) {
    for (;;) {
        CO_TRY_VOID(co_await loop_.sleep(options_.retry));
        const auto answer = co_await server_of(number).list<ConfigMap>(ours_);
        if (is_cancelled(answer)) co_return answer.error();
        if (answer && !dying_) co_return {};
    }
}

Task<Objects> Workload::list_once(client::Client& server, std::uint64_t& revision) {
    CO_TRY(auto answer, co_await server.list<ConfigMap>(ours_));
    Objects objects;
    for (ConfigMap& map : answer.items) objects[map.metadata.name] = {map.data["value"], revision_of(map.metadata.resource_version)};
    revision = revision_of(answer.resource_version);
    co_return objects;
}

Task<> Workload::list(int number) {
    List list{.client = number, .invoked = now(), .objects = {}};
    auto answer = co_await list_once(server_of(number), list.revision);
    if (is_cancelled(answer)) co_return answer.error();
    if (!answer || dying_) co_return co_await wait_for_server(number);
    list.returned = now();
    list.objects = std::move(*answer);
    history_.lists.push_back(std::move(list));
    co_return {};
}

Task<> Workload::follow() {
    for (;;) {
        Watch watch;
        auto initial = co_await list_once(any_server(), watch.from);
        if (is_cancelled(initial)) co_return initial.error();
        if (!initial || dying_) {
            CO_TRY_VOID(co_await wait_for_server(Watcher));
            continue;
        }
        watch.initial = std::move(*initial);
        watch.to = watch.from;
        const auto why = co_await follow_once(watch);
        history_.watches.push_back(std::move(watch));
        if (!why) co_return why.error();
    }
}

/// Until the server has forgotten where the watch is, which is no error.
Task<std::string> Workload::follow_once(Watch& watch) {
    for (;;) {
        client::ListOptions from = ours_;
        from.resource_version = std::to_string(watch.to);
        auto stream = co_await any_server().watch(ConfigMap::kind(), from);
        if (!stream && is_cancelled(stream)) co_return stream.error();
        if (!stream && stream.error().reason == Reason::Expired) co_return "expired";
        bool open = stream.has_value() && !dying_;
        while (open) {
            const auto event = co_await (*stream)->next();
            if (is_cancelled(event)) co_return event.error();
            if (!event || !*event || dying_) break;
            CO_TRY(open, co_await take_event(watch, ***event));
            if (!open) co_return "expired";
        }
        CO_TRY_VOID(co_await loop_.sleep(options_.retry / 4));
    }
}

/// False for an error of the stream.
Task<bool> Workload::take_event(Watch& watch, const std::string& document) {
    CO_TRY(const schema::Value event, schema::parse_json(document));
    const std::string_view type = event.string_at({"type"});
    if (type == "ERROR") co_return false;
    const std::uint64_t revision = revision_of(std::string(event.string_at({"object", "metadata", "resourceVersion"})));
    if (type == "BOOKMARK") {
        watch.to = std::max(watch.to, revision);
        co_return true;
    }
    WatchEvent shown{.key = std::string(event.string_at({"object", "metadata", "name"})),
                     .value = std::string(event.string_at({"object", "data", "value"})),
                     .revision = revision};
    if (type == "MODIFIED") shown.type = WatchEvent::Type::Modified;
    if (type == "DELETED") shown.type = WatchEvent::Type::Deleted;
    watch.events.push_back(std::move(shown));
    watch.to = std::max(watch.to, revision);
    co_return true;
}

Task<> Workload::finish() {
    finishing_ = true;
    while (!writers_.empty()) CO_TRY_VOID(co_await loop_.sleep(std::chrono::milliseconds(5)));
    // A last write, which all watchers must come to see, and a last list.
    Operation last{.kind = Kind::Create, .key = options_.name + "-last", .invoked = now(), .value = "v" + std::to_string(++next_value_)};
    CO_TRY(const ConfigMap made, co_await any_server().create(config_map(last)));
    last.returned = now();
    last.outcome = Outcome::Done;
    last.revision = revision_of(made.metadata.resource_version);
    history_.operations.push_back(last);
    CO_TRY_VOID(co_await list(0));
    CO_TRY_VOID(co_await loop_.sleep(std::chrono::seconds(1)));
    co_return co_await watchers_.close();
}

}  // namespace porthole::linearizability
