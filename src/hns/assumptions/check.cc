#include "hns/assumptions/check.h"

#include <map>
#include <optional>
#include <utility>

#include "hns/assumptions/expectation.h"
#include "hns/hresult.h"
#include "schema/json/json.h"

namespace porthole::hns {
namespace {

using schema::Value;
using Verb = AssumedCall::Verb;

constexpr const char* NoObject = "00000000-0000-0000-0000-00000000C0DE";
constexpr Duration Pause = std::chrono::milliseconds(500);

struct Named {
    ObjectKind kind;
    std::string id;
};

/// What names stand for while the calls of one assumption are made.
class Names {
public:
    explicit Names(std::string adapter) : adapter_(std::move(adapter)) {
        objects_ = {{"no-network", {ObjectKind::Network, NoObject}},
                    {"no-endpoint", {ObjectKind::Endpoint, NoObject}},
                    {"no-namespace", {ObjectKind::Namespace, NoObject}},
                    {"no-load-balancer", {ObjectKind::LoadBalancer, NoObject}}};
    }

    void add(const std::string& name, ObjectKind kind, std::string id) { objects_.insert_or_assign(name, Named{kind, std::move(id)}); }
    const Named* find(const std::string& name) const {
        const auto found = objects_.find(name);
        return found == objects_.end() ? nullptr : &found->second;
    }
    /// Nothing when a name stands for nothing.
    std::optional<std::string> filled_text(std::string_view text) const {
        std::string filled;
        for (;;) {
            const std::size_t start = text.find("${");
            filled += text.substr(0, start);
            if (start == text.npos) return filled;
            const std::size_t end = text.find('}', start);
            if (end == text.npos) return std::nullopt;
            const std::string name(text.substr(start + 2, end - start - 2));
            if (name == "adapter") {
                filled += adapter_;
            } else if (const Named* object = find(name)) {
                filled += object->id;
            } else {
                return std::nullopt;
            }
            text.remove_prefix(end + 1);
        }
    }
    std::optional<Value> filled(const Value& value) const {
        if (value.is_string()) {
            auto text = filled_text(value.as_string());
            return text ? std::optional<Value>(Value(*std::move(text))) : std::nullopt;
        }
        Value copy = value;
        if (copy.is_array()) {
            for (Value& item : copy.as_array()) {
                auto inner = filled(item);
                if (!inner) return std::nullopt;
                item = *std::move(inner);
            }
        } else if (copy.is_object()) {
            for (schema::Member& member : copy.as_object()) {
                auto inner = filled(member.value);
                if (!inner) return std::nullopt;
                member.value = *std::move(inner);
            }
        }
        return copy;
    }
    /// The other way: names in place of the ids and of the adapter, which say nothing outside of the host.
    Value named(Value value) const {
        if (value.is_string()) {
            for (const auto& [name, object] : objects_)
                if (shows(Value(object.id), value)) return Value("${" + name + "}");
            if (!adapter_.empty() && value.as_string() == adapter_) return Value("${adapter}");
        } else if (value.is_array()) {
            for (Value& item : value.as_array()) item = named(std::move(item));
        } else if (value.is_object()) {
            for (schema::Member& member : value.as_object()) member.value = named(std::move(member.value));
        }
        return value;
    }

private:
    std::string adapter_;
    std::map<std::string, Named> objects_;
};

std::string words_of(const AssumedCall& call) {
    switch (call.verb) {
        case Verb::Create:
            return std::string("create ") + to_string(call.kind);
        case Verb::Enumerate:
            return std::string("enumerate ") + to_string(call.kind);
        case Verb::Query:
            return "query " + call.target;
        case Verb::Modify:
            return "modify " + call.target;
        case Verb::Remove:
            return "remove " + call.target;
        case Verb::Version1:
            return call.target + " " + call.path;
    }
    std::unreachable();
}

/// The calls of one assumption, and what they made.
class Run {
public:
    Run(EventLoop& loop, Hns& hns, std::string adapter) : loop_(loop), hns_(hns), names_(std::move(adapter)) {}

    /// False: what the call needs is not there.
    Task<bool> make(AssumedCall call, Finding& finding) {
        std::optional<Value> settings = names_.filled(call.settings), shown = names_.filled(call.shows);
        const std::optional<std::string> path = names_.filled_text(call.path);
        const bool has_target =
            call.verb == Verb::Enumerate || call.verb == Verb::Version1 || (call.verb == Verb::Create && call.target.empty());
        if (!settings || !shown || !path || (!has_target && !names_.find(call.target))) co_return false;
        const std::string text = !call.text.empty() ? call.text : settings->is_null() ? "" : schema::to_json(*settings);

        const MonotonicTime deadline = loop_.now() + call.within;
        for (;;) {
            auto answer = co_await put(call, *path, text);
            if (!answer && (is_cancelled(answer) || is_disconnected(answer.error()))) co_return std::move(answer).error();
            const bool is_right = judge(call, *shown, answer);
            if (!is_right && loop_.now() < deadline) {
                CO_TRY_VOID(co_await loop_.sleep(Pause));
                continue;
            }
            note(std::move(call), *shown, answer, is_right, finding);
            co_return true;
        }
    }

    Task<> remove_all() {
        for (; !made_.empty(); made_.pop_back()) {
            const auto removed = co_await hns_.remove(made_.back().kind, made_.back().id);
            if (!removed && (is_cancelled(removed) || is_disconnected(removed.error()))) co_return Error(removed.error());
        }
        co_return {};
    }

private:
    Task<std::string> put(const AssumedCall& call, const std::string& path, const std::string& text) {
        const Named* target = names_.find(call.target);
        switch (call.verb) {
            case Verb::Create: {
                auto id = co_await hns_.create(call.kind, target ? target->id : "", text);
                if (id) made_.push_back({call.kind, *id});
                if (id && !call.as.empty()) names_.add(call.as, call.kind, *id);
                co_return id;
            }
            case Verb::Query:
                co_return co_await hns_.query(target->kind, target->id, text);
            case Verb::Enumerate:
                co_return co_await hns_.enumerate(call.kind, text);
            case Verb::Version1:
                co_return co_await hns_.call_v1(call.target, path, text);
            case Verb::Modify: {
                CO_TRY_VOID(co_await hns_.modify(target->kind, target->id, text));
                co_return std::string();
            }
            case Verb::Remove: {
                CO_TRY_VOID(co_await hns_.remove(target->kind, target->id));
                co_return std::string();
            }
        }
        std::unreachable();
    }

    static Value document_of(const Result<std::string>& answer) {
        auto document = answer ? schema::parse_json(*answer) : Result<Value>(Value());
        return document ? *std::move(document) : Value();
    }

    static bool judge(const AssumedCall& call, const Value& shown, const Result<std::string>& answer) {
        if (!answer) return hresult_name(hresult_of(answer.error())) == call.fails;
        return call.fails.empty() && (shown.is_null() || shows(shown, document_of(answer)));
    }

    void note(AssumedCall call, const Value& shown, const Result<std::string>& answer, bool is_right, Finding& finding) {
        if (!is_right) {
            const std::string what = words_of(call) + ": ";
            if (!answer) {
                const std::string code = hresult_name(hresult_of(answer.error()));
                finding.differences.push_back(what + "fails with " + code + (call.fails.empty() ? "" : " instead of " + call.fails));
                call.fails = code;
            } else if (!call.fails.empty()) {
                finding.differences.push_back(what + "succeeds instead of failing with " + call.fails);
                call.fails.clear();
            } else {
                const Value found = names_.named(observed(shown, document_of(answer)));
                finding.differences.push_back(what + "shows " + schema::to_json(found) + " instead of " + schema::to_json(call.shows));
                call.shows = found;
            }
        }
        finding.observed.push_back(std::move(call));
    }

    EventLoop& loop_;
    Hns& hns_;
    Names names_;
    std::vector<Named> made_;
};

}  // namespace

Task<Finding> check(EventLoop& loop, Hns& hns, Assumption assumption, std::string adapter) {
    Finding finding;
    if (assumption.needs_adapter && adapter.empty()) {
        finding.differences.push_back("it needs an adapter of the host");
        co_return finding;
    }
    Run run(loop, hns, std::move(adapter));
    for (const AssumedCall& call : assumption.calls) {
        CO_TRY(const bool made, co_await run.make(call, finding));
        if (!made) break;
    }
    CO_TRY_VOID(co_await run.remove_all());
    finding.outcome = finding.differences.empty() ? Finding::Outcome::AsAssumed : Finding::Outcome::Differs;
    co_return finding;
}

}  // namespace porthole::hns
