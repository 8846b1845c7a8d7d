// Searches every list and map of every kind for work of the API server that grows faster than the list: objects with long lists are sent
// through a whole server in memory, and the processor time of a request with N entries is compared with that of one with four times as
// many. Times depend on the machine, so that this is a search whose findings are read, and no test: what it finds gets a test of its own.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <ctime>
#include <map>

#include "api/registry.h"
#include "apiserver/example_options.h"
#include "long_lists/long_object.h"
#include "net/http/kept_answer.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"
#include "store/memory/memory_engine.h"

namespace porthole::long_lists {
namespace {

using apiserver::ApiServer;
using schema::Value;

constexpr std::size_t MostBytes = 1'000'000;  ///< of a list as JSON: an object may have 1.5 MB
constexpr double Suspect = 7;                 ///< times the time for four times the entries
constexpr double Negligible = 0.05;           ///< seconds

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

struct Request {
    std::string method, path, body, content_type, accept;
};

/// A server with a namespace in which quotas, limits, levels of security and a policy apply.
class World {
public:
    World() {
        auto opened = ApiServer::open({loop_, pool_, random_, Logger(make_null_sink(), "lists")},
                                      std::make_unique<store::MemoryEngine>(disk_), apiserver::example_options());
        CHECK(opened.has_value());
        api_ = std::move(*opened);
        CHECK(sim::run(loop_, api_->start()).has_value());
        const auto make = [&](const char* path, const char* body) {
            const net::KeptAnswer answer = ask({"POST", path, body, "application/yaml", {}});
            if (answer.code != 201) fmt::print("{}: {}\n", path, answer.body);
            CHECK(answer.code == 201);
        };
        const std::string level = "/api/v1/namespaces/default";
        CHECK(
            ask({"PATCH",
                 level,
                 R"({"metadata":{"labels":{"pod-security.kubernetes.io/warn":"restricted","pod-security.kubernetes.io/audit":"baseline"}}})",
                 "application/merge-patch+json",
                 {}})
                .code == 200);
        make("/api/v1/namespaces/default/serviceaccounts", "{metadata: {name: default}}");
        make("/api/v1/namespaces/default/limitranges",
             "{metadata: {name: a}, spec: {limits: [{type: Container, default: {cpu: 1}, max: {cpu: 100000}}]}}");
        make("/api/v1/namespaces/default/resourcequotas",
             "{metadata: {name: a}, spec: {hard: {pods: 100000, requests.cpu: 1000000000, services: 1000, persistentvolumeclaims: 1000}}}");
        make("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
             "{metadata: {name: all}, spec: {matchConstraints: {resourceRules: [{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], "
             "resources: ['*/*']}]}, validations: [{expression: 'has(object.metadata)'}]}}");
        make("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
             "{metadata: {name: all}, spec: {policyName: all, validationActions: [Audit]}}");
        CHECK(sim::run(loop_, loop_.sleep(std::chrono::seconds(1))).has_value());
    }
    ~World() { CHECK(sim::run(loop_, api_->close()).has_value()); }

    net::KeptAnswer ask(Request asked) {
        net::KeptAnswer answer;
        net::HttpRequest request{.method = std::move(asked.method), .path = asked.path, .body = std::move(asked.body)};
        if (const std::size_t mark = asked.path.find('?'); mark != std::string::npos) {
            request.path = asked.path.substr(0, mark);
            request.query = asked.path.substr(mark + 1);
        }
        if (!asked.content_type.empty()) request.headers.add("content-type", asked.content_type);
        request.headers.add("accept", asked.accept.empty() ? "application/json" : asked.accept);
        const double before = thread_seconds();
        const auto done =
            sim::run(loop_, api_->server().handle_as(apiserver::loopback_user(), std::move(request), answer), std::chrono::minutes(5));
        seconds = thread_seconds() - before;
        if (!done && answer.code == 0) answer.code = 599;
        return answer;
    }

    double seconds = 0;  ///< of the last request

private:
    sim::SimLoop loop_;
    sim::SimWorkerPool pool_{loop_};
    SeededRandom random_{7};
    store::MemoryDisk disk_;
    std::unique_ptr<ApiServer> api_;
};

/// What one step of a list's life took and how it was answered.
struct Step {
    std::string name;
    double seconds = 0;
    int code = 0;
    std::string message;
};

std::string collection_of(const schema::Kind& kind) {
    return (kind.group.empty() ? "/api/" : "/apis/" + std::string(kind.group) + "/") + std::string(kind.version) +
           (kind.namespaced() ? "/namespaces/default/" : "/") + std::string(kind.plural);
}

/// Removes the object at its end, whatever holds it.
struct Removal {
    ~Removal() {
        world.ask({"PATCH", path, R"({"metadata":{"finalizers":null}})", "application/merge-patch+json", {}});
        world.ask({"DELETE", path, R"({"gracePeriodSeconds":0})", "application/json", {}});
        world.ask({"PATCH", path, R"({"metadata":{"finalizers":null}})", "application/merge-patch+json", {}});
    }
    World& world;
    std::string path;
};

/// Sends an object with `count` entries through all that a client can do with it.
std::vector<Step> life(World& world, const std::string& own_name, const schema::Kind& kind, const std::vector<Place>& at, std::size_t count,
                       bool same) {
    LongObject made(kind, own_name);
    const bool status = at.front().front()->name == "status";
    if (!status)
        for (const Place& place : at) made.add(place, count, same);
    const std::string name(made.tree().string_at({"metadata", "name"}));
    const std::string collection = collection_of(kind), object = collection + "/" + name;
    std::vector<Step> steps;
    const auto ask = [&](std::string step, Request request) {
        net::KeptAnswer answer = world.ask(std::move(request));
        steps.push_back({std::move(step), world.seconds, answer.code, answer.code < 300 ? "" : answer.body.substr(0, 300)});
        return answer;
    };
    if (ask("create", {"POST", collection + "?fieldManager=a", schema::to_json(made.tree()), "application/json", {}}).code >= 300)
        return steps;
    const std::string part = status ? object + "/status" : object;
    net::KeptAnswer now = world.ask({"GET", object, {}, {}, {}});
    if (now.code != 200) return steps;  // a review
    const Removal removal{world, object};
    Value next = *schema::parse_json(now.body);
    if (status) {
        LongObject with(kind, name);
        with.tree()["status"] = next.find("status") ? *next.find("status") : Value::object();
        for (const Place& place : at) with.add(place, count, same);
        next["status"] = *with.tree().find("status");
        if (ask("put status", {"PUT", part, schema::to_json(next), "application/json", {}}).code >= 300) return steps;
        made.tree()["status"] = next["status"];
        next = *schema::parse_json(world.ask({"GET", object, {}, {}, {}}).body);
    }
    next["metadata"]["labels"]["changed"] = "yes";
    ask("put", {"PUT", part, schema::to_json(next), "application/json", {}});
    ask("merge", {"PATCH", part, R"({"metadata":{"annotations":{"changed":"1"}}})", "application/merge-patch+json", {}});
    Value whole = made.tree();
    whole["metadata"]["annotations"]["changed"] = "2";
    ask("strategic", {"PATCH", part, schema::to_json(whole), "application/strategic-merge-patch+json", {}});
    ask("json patch",
        {"PATCH", part, R"([{"op":"add","path":"/metadata/annotations/changed","value":"3"}])", "application/json-patch+json", {}});
    ask("apply", {"PATCH", part + "?fieldManager=b&force=true", schema::to_json(made.tree()), "application/apply-patch+yaml", {}});
    ask("apply again", {"PATCH", part + "?fieldManager=b&force=true", schema::to_json(whole), "application/apply-patch+yaml", {}});
    ask("table", {"GET", collection, {}, {}, "application/json;as=Table;g=meta.k8s.io;v=v1"});
    ask("protobuf", {"GET", object, {}, {}, "application/vnd.kubernetes.protobuf"});
    return steps;
}

class Search {
public:
    /// `entries`: at most, of a list.
    Search(std::size_t entries, bool same) : most_(entries), same_(same) {}

    void look(const schema::Kind& kind, const std::vector<Place>& at) {
        std::string name(kind.kind);
        name += " " + kind.api_version();
        for (const Place& place : at) name += " " + text_of(place);
        const std::size_t most = entries(kind, at);
        if (!world_) world_ = std::make_unique<World>();
        if (world_->ask({"GET", collection_of(kind), {}, {}, {}}).code == 404) return;  // the version is off
        if (++searched_ % 20 == 0) world_ = std::make_unique<World>();
        const std::string own_name = "l" + std::to_string(searched_);
        const std::vector<Step> small = life(*world_, own_name + "s", kind, at, most / 4, same_);
        const std::vector<Step> large = life(*world_, own_name, kind, at, most, same_);
        for (std::size_t i = 0; i < large.size(); ++i) {
            const Step& step = large[i];
            if (step.code >= 300) {
                fmt::print("  refused: {} ({} entries) {}: {} {}\n", name, most, step.name, step.code, step.message);
                const bool whole = step.name == "create" || step.name == "put status";
                const bool bounded = step.message.contains("Too many: ") || step.message.contains("must have exactly one ") ||
                                     step.message.contains("must be only one value");
                (bounded ? bounded_ : refused_) += whole;
            }
            if (i < small.size() && step.seconds > Negligible && step.seconds > Suspect * small[i].seconds)
                fmt::print("FOUND {} {}: {:.0f} ms for {} entries, {:.0f} ms for {}\n", name, step.name, small[i].seconds * 1e3, most / 4,
                           step.seconds * 1e3, most);
        }
        std::fflush(stdout);
    }
    void tell() const {
        fmt::print("{} searched; of them {} have a bound that the objects exceeded, and {} objects were refused for something else\n",
                   searched_, bounded_, refused_);
    }

private:
    /// As many as an object can have.
    std::size_t entries(const schema::Kind& kind, const std::vector<Place>& at) const {
        LongObject none(kind, "a"), some(kind, "a");
        for (const Place& place : at) {
            none.add(place, 1, same_);
            some.add(place, 101, same_);
        }
        const std::size_t bytes =
            std::max<std::size_t>(1, (schema::to_json(some.tree()).size() - schema::to_json(none.tree()).size()) / 100);
        return std::min(most_, MostBytes / bytes);
    }

    std::size_t most_;
    bool same_;
    std::unique_ptr<World> world_;
    std::size_t searched_ = 0, bounded_ = 0, refused_ = 0;
};

/// At most two of one member of a type: sidecars and other containers are treated alike.
std::vector<Place> chosen(const schema::Kind& kind, bool templates) {
    std::map<const schema::Field*, int> seen;
    std::vector<Place> left;
    for (Place& place : places(*kind.type, templates)) {
        const bool meta = place.front()->name == "metadata";
        if (place.front()->name == "status" && !kind.is(schema::Kind::HasStatus)) continue;
        if (meta && kind.kind != "ConfigMap" && kind.kind != "Pod") continue;
        if (seen[place.back()]++ < 2) left.push_back(std::move(place));
    }
    return left;
}

}  // namespace
}  // namespace porthole::long_lists

int main(int count, char** words) {
    using namespace porthole;
    using namespace porthole::long_lists;
    std::size_t entries = 20'000;
    bool same = false, pairs = false, templates = false;
    std::vector<std::string> wanted;
    CLI::App app("Searches the lists and maps of all kinds for work of the API server that grows faster than they do.", "long_lists");
    app.add_option("--entries", entries, "of the longer list; the shorter one has a quarter of them")->capture_default_str();
    app.add_flag("--pairs", pairs, "make two lists of an object long at a time");
    app.add_flag("--templates", templates, "look into the pod templates of all kinds, and not only into those of Deployments");
    app.add_flag("--same", same, "give all entries the same value");
    app.add_option("places", wanted, "KIND or KIND/PLACE, for example Pod or Service/spec.ports[]; all, if none is given");
    CLI11_PARSE(app, count, words);
    Search search(entries, same);
    for (const schema::Kind* kind : api::kinds()) {
        if (!kind->is(schema::Kind::Resource) || !kind->has_verb("create")) continue;
        const auto is_wanted = [&](const Place* place) {
            if (wanted.empty()) return true;
            for (const std::string& one : wanted)
                if (one == kind->kind || (place && one == std::string(kind->kind) + "/" + text_of(*place))) return true;
            return false;
        };
        const std::vector<Place> all = chosen(*kind, templates || kind->kind == "Deployment");
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (!is_wanted(&all[i])) continue;
            if (!pairs) {
                search.look(*kind, {all[i]});
                continue;
            }
            for (std::size_t j = i + 1; j < all.size(); ++j)
                if (all[i].front() == all[j].front()) search.look(*kind, {all[i], all[j]});
        }
    }
    search.tell();
    return 0;
}
