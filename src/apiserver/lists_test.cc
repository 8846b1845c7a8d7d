#include <gmock/gmock.h>

#include "api/core_v1.h"
#include "api/registry.h"
#include "apiserver/api_server_fixture.h"
#include "apiserver/storage/keys.h"
#include "schema/protobuf/protobuf.h"
#include "schema/yaml/yaml.h"

namespace porthole::apiserver {
namespace {

std::string names_of(const schema::Value& list) {
    std::string names;
    for (const schema::Value& item : list.find("items")->as_array())
        names += (names.empty() ? "" : " ") + std::string(item.string_at({"metadata", "name"}));
    return names;
}

class Lists : public ApiServerFixture {};
class Watches : public ApiServerFixture {};

TEST_F(Lists, HaveTheKindOfTheListAndItsVersion) {
    post(ConfigMaps, config_map("a"));
    const Answer list = get(ConfigMaps);
    EXPECT_EQ(list.at({"kind"}), "ConfigMapList");
    EXPECT_EQ(list.at({"apiVersion"}), "v1");
    EXPECT_EQ(list.at({"metadata", "resourceVersion"}), get(std::string(ConfigMaps) + "/a").at({"metadata", "resourceVersion"}));
    EXPECT_TRUE(get("/api/v1/namespaces/kube-public/secrets").body.find("items")->as_array().empty());
}

TEST_F(Lists, ComeInPagesThatShowOneMoment) {
    for (const char* name : {"a", "b", "c", "d", "e"}) post(ConfigMaps, config_map(name));
    Answer page = get(std::string(ConfigMaps) + "?limit=2");
    EXPECT_EQ(names_of(page.body), "a b");
    EXPECT_EQ(page.body.at_path({"metadata", "remainingItemCount"})->as_int(), 3);
    const std::string version(page.at({"metadata", "resourceVersion"}));
    post(ConfigMaps, config_map("bb"));
    page = get(std::string(ConfigMaps) + "?limit=2&continue=" + std::string(page.at({"metadata", "continue"})));
    EXPECT_EQ(names_of(page.body), "c d");
    EXPECT_EQ(page.at({"metadata", "resourceVersion"}), version);
    page = get(std::string(ConfigMaps) + "?limit=2&continue=" + std::string(page.at({"metadata", "continue"})));
    EXPECT_EQ(names_of(page.body), "e");
    EXPECT_EQ(page.at({"metadata", "continue"}), "");
    EXPECT_EQ(get(std::string(ConfigMaps) + "?continue=nonsense").code, 400);
}

TEST_F(Lists, PagesOfARevisionThatIsGoneMayGoOnInThePresent) {
    for (const char* name : {"a", "b", "c"}) post(ConfigMaps, config_map(name));
    Answer page = get(std::string(ConfigMaps) + "?limit=2");
    post(ConfigMaps, config_map("d"));
    ASSERT_TRUE(sim::run(loop, api->store().compact(api->store().revision())));
    page = get(std::string(ConfigMaps) + "?limit=2&continue=" + std::string(page.at({"metadata", "continue"})));
    EXPECT_EQ(page.code, 410);
    EXPECT_EQ(page.at({"reason"}), "Expired");
    page = get(std::string(ConfigMaps) + "?limit=2&continue=" + std::string(page.at({"metadata", "continue"})));
    EXPECT_EQ(names_of(page.body), "c d");
}

TEST_F(Lists, SelectByLabelsAndFields) {
    for (const char* name : {"a", "b", "c"}) post(ConfigMaps, config_map(name, name));
    const struct {
        const char* query;
        const char* names;
    } rows[] = {
        {"labelSelector=app%3Da", "a"},
        {"labelSelector=app!%3Da", "b c"},
        {"labelSelector=app+in+(a,b)", "a b"},
        {"labelSelector=app+notin+(a,b)", "c"},
        {"labelSelector=app", "a b c"},
        {"labelSelector=!app", ""},
        {"fieldSelector=metadata.name%3Db", "b"},
        {"fieldSelector=metadata.name!%3Db", "a c"},
        {"fieldSelector=metadata.namespace%3Dother", ""},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.query);
        EXPECT_EQ(names_of(get(std::string(ConfigMaps) + "?" + row.query).body), row.names);
    }
    EXPECT_EQ(get(std::string(ConfigMaps) + "?fieldSelector=data.k%3Da").code, 400);
    EXPECT_EQ(get(std::string(ConfigMaps) + "?labelSelector=a%3D%3D%3D").code, 400);
    EXPECT_EQ(get(std::string(ConfigMaps) + "?labelSelector=a%3Db%3Dc").at({"message"}), "found '=', expected: ',' or 'end of string'");
    EXPECT_EQ(get(std::string(ConfigMaps) + "?labelSelector=a+in+b").at({"message"}),
              "unable to parse requirement: found 'b' expected: '('");
    EXPECT_EQ(get(std::string(ConfigMaps) + "?labelSelector=a,,b").at({"message"}), "found ',', expected: identifier after ','");
    post(Pods, pod("p", R"(,"nodeName":"n1")"));
    EXPECT_EQ(names_of(get("/api/v1/pods?fieldSelector=spec.nodeName%3Dn1,status.phase!%3DFailed").body), "p");
    EXPECT_EQ(get("/api/v1/pods?fieldSelector=spec.color%3Dred").at({"message"}), "field label not supported: spec.color");
}

TEST_F(Lists, ShowAnExactOldVersion) {
    const std::string before(post(ConfigMaps, config_map("a")).at({"metadata", "resourceVersion"}));
    post(ConfigMaps, config_map("b"));
    EXPECT_EQ(names_of(get(std::string(ConfigMaps) + "?resourceVersionMatch=Exact&resourceVersion=" + before).body), "a");
    EXPECT_EQ(names_of(get(std::string(ConfigMaps) + "?resourceVersionMatch=NotOlderThan&resourceVersion=" + before).body), "a b");
    const Answer future = get(std::string(ConfigMaps) + "?resourceVersion=99999");
    EXPECT_EQ(future.code, 504);
    EXPECT_EQ(get(std::string(ConfigMaps) + "?resourceVersionMatch=Exact").code, 422);
}

TEST_F(Lists, CanBeTables) {
    post(Pods, pod("p"));
    const Answer table = call("GET", Pods, "", "", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json");
    EXPECT_EQ(table.at({"kind"}), "Table");
    EXPECT_EQ(table.at({"apiVersion"}), "meta.k8s.io/v1");
    const schema::Value& row = table.body.find("rows")->as_array().at(0);
    EXPECT_EQ(row.find("cells")->as_array().at(0).as_string(), "p");
    EXPECT_EQ(row.string_at({"object", "kind"}), "PartialObjectMetadata");
    EXPECT_FALSE(table.at({"metadata", "resourceVersion"}).empty());
    EXPECT_EQ(call("GET", Pods, "", "", "text/html").code, 406);
    const Answer partial = call("GET", Pods, "", "", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");
    EXPECT_EQ(partial.at({"kind"}), "PartialObjectMetadataList");
    EXPECT_EQ(partial.body.find("items")->as_array().at(0).find("spec"), nullptr);
}

/// Virtual time, in which work takes time: 40 us between two looks at the clock.
class WorkingLoop final : public EventLoop {
public:
    explicit WorkingLoop(sim::SimLoop& loop) : loop_(loop) {}
    void post(Callback callback) override { loop_.post(std::move(callback)); }
    TimerId call_at(MonotonicTime when, Callback callback) override { return loop_.call_at(when, std::move(callback)); }
    void cancel_timer(TimerId timer) override { loop_.cancel_timer(timer); }
    MonotonicTime now() const override { return loop_.now() + (worked_ += std::chrono::microseconds(40)); }
    SystemTime wall_now() const override { return loop_.wall_now(); }

private:
    sim::SimLoop& loop_;
    mutable Duration worked_{};
};

TEST(LargeLists, LeaveTheThreadToOthersWhileTheyAreSelected) {
    sim::SimLoop loop;
    WorkingLoop working(loop);
    sim::SimWorkerPool pool(loop);
    SeededRandom random(1);
    store::MemoryDisk disk;
    const auto api = *ApiServer::open({working, pool, random, Logger(make_null_sink(), "test")},
                                      std::make_unique<store::MemoryEngine>(disk), example_options());
    ASSERT_TRUE(sim::run(loop, api->start()));
    store::Transaction transaction;
    for (int i = 0; i < 3000; ++i)
        transaction.operations.push_back(store::Put{kind_prefix(api::core::v1::ConfigMap::kind()) + "default/a" + std::to_string(i), "{}"});
    ASSERT_TRUE(sim::run(loop, api->store().commit(std::move(transaction))));

    const std::string selection = "labelSelector=app%3Da";
    const std::string from_the_start = "&watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    for (const auto& [method, query] : {std::pair("GET", selection), {"GET", selection + from_the_start}, {"DELETE", selection}}) {
        SCOPED_TRACE(method + query);
        net::KeptAnswer answer;
        TaskContext context(working);
        bool ended = false;
        net::HttpRequest request{.method = method, .path = ConfigMaps, .query = query};
        start_task(api->server().handle_as(loopback_user(), std::move(request), answer), context,
                   [&](const Result<void>&) { ended = true; });
        EXPECT_TRUE(answer.body.empty()) << "nothing has been selected at once";
        loop.run_ready();
        EXPECT_EQ(answer.code, 200);
        EXPECT_THAT(answer.body, testing::HasSubstr("\"resourceVersion\""));
        context.cancel();
        loop.run_ready();
        EXPECT_TRUE(ended);
    }
    ASSERT_TRUE(sim::run(loop, api->close()));
}

/// A watcher that counts how often it is sent something.
struct WatcherOfAll final : net::KeptAnswer {
    Task<> write(net::Bytes piece) override {
        ++pieces;
        return net::KeptAnswer::write(std::move(piece));
    }
    int pieces = 0;
};

/// Clients that create config maps, and others that watch them, on a thread for which there is more work than it does in a turn.
class BusyWatches : public testing::Test {
protected:
    void SetUp() override { ASSERT_TRUE(sim::run(loop, api->start())); }
    void TearDown() override {
        for (TaskContext& context : contexts) context.cancel();
        loop.run_ready();
        ASSERT_TRUE(sim::run(loop, api->close()));
    }
    void begin(net::HttpRequest request, net::HttpResponder& answer, std::function<void()> ended) {
        request.path = ConfigMaps;
        start_task(api->server().handle_as(loopback_user(), std::move(request), answer), contexts.emplace_back(working),
                   [ended = std::move(ended)](const Result<void>&) { ended(); });
    }
    void watch() {
        begin({.method = "GET", .query = "watch=true&resourceVersion=0"}, watchers.emplace_back(), [] {});
    }
    /// One after the other.
    void create(int number) {
        if (number == 0) return;
        begin({.method = "POST", .body = R"({"metadata":{"name":"a)" + std::to_string(created++) + "\"}}"}, answers.emplace_back(),
              [this, number] { loop.post([this, number] { create(number - 1); }); });
    }

    sim::SimLoop loop;
    WorkingLoop working{loop};
    sim::SimWorkerPool pool{loop};
    SeededRandom random{1};
    store::MemoryDisk disk;
    std::unique_ptr<ApiServer> api = *ApiServer::open({working, pool, random, Logger(make_null_sink(), "test")},
                                                      std::make_unique<store::MemoryEngine>(disk), example_options());
    std::list<TaskContext> contexts;
    std::list<net::KeptAnswer> answers;
    std::list<WatcherOfAll> watchers;
    int created = 0;
};

TEST_F(BusyWatches, TellTogetherWhatHasComeBeforeTheirTurn) {
    constexpr int Watchers = 16, Clients = 4, Creates = 20;
    for (int i = 0; i < Watchers; ++i) watch();
    loop.run_ready();
    for (int i = 0; i < Clients; ++i) create(Creates);
    loop.run_ready();
    int pieces = 0;
    for (const WatcherOfAll& one : watchers) {
        pieces += one.pieces;
        EXPECT_EQ(one.body, watchers.front().body) << "each is told the same in the same order";
    }
    EXPECT_THAT(watchers.front().body, testing::HasSubstr("\"name\":\"a79\""));
    EXPECT_LT(pieces, 2 * Watchers) << "not for each of " << Clients * Creates;
}

TEST_F(Lists, AreTheSameInEveryForm) {
    const auto listed = [&](std::string_view accept, std::string_view query = "") {
        const Answer answer = call("GET", Pods + std::string(query), "", "", std::string(accept));
        EXPECT_EQ(answer.code, 200) << accept << answer.text;
        return answer.text;
    };
    const auto without_types = [](schema::Value list) {
        for (schema::Value& item : list["items"].as_array()) item.erase("kind"), item.erase("apiVersion");
        return list;
    };
    for (const std::size_t count : {0, 1, 3}) {
        if (count > 0) post(Pods, pod("p" + std::to_string(count)));
        if (count == 3) post(Pods, pod("p2"));
        const schema::Value plain = schema::parse_json(listed("application/json")).value();
        EXPECT_EQ(plain.find("items")->as_array().size(), count);
        EXPECT_EQ(schema::parse_json(listed("application/json", "?pretty=true")).value(), plain);
        EXPECT_EQ(schema::parse_yaml(listed("application/yaml")).value(), plain);
        const auto decoded = schema::decode_enveloped(api::registry(), listed("application/vnd.kubernetes.protobuf"));
        ASSERT_TRUE(decoded) << decoded.error().message;
        EXPECT_EQ(without_types(*decoded), without_types(plain));
        constexpr std::string_view Partial = ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
        const schema::Value metadata = schema::parse_json(listed("application/json" + std::string(Partial))).value();
        EXPECT_EQ(metadata.find("items")->as_array().size(), count);
        const auto sealed = schema::decode_enveloped(api::registry(), listed("application/vnd.kubernetes.protobuf" + std::string(Partial)));
        ASSERT_TRUE(sealed) << sealed.error().message;
        EXPECT_EQ(without_types(*sealed), without_types(metadata));
        const schema::Value table = schema::parse_json(listed("application/json;as=Table;v=v1;g=meta.k8s.io")).value();
        EXPECT_EQ(table.find("rows")->as_array().size(), count);
    }
}

TEST_F(Lists, AreIndentedForPeople) {
    post(Pods, pod("p"));
    const auto is_indented = [&](std::string agent, std::string query, std::string path) {
        HeaderKeeper keeper;
        net::HttpRequest request{.method = "GET", .path = std::move(path), .query = std::move(query)};
        request.headers.add("user-agent", std::move(agent));
        EXPECT_TRUE(sim::run(loop, api->server().handle_as(loopback_user(), std::move(request), keeper)));
        return keeper.body.contains("\n  \"");
    };
    for (const std::string& path : {std::string(Pods), std::string(Pods) + "/p", std::string(Pods) + "/none"}) {
        SCOPED_TRACE(path);
        for (const char* agent : {"curl/8.9.1", "Wget/1.21", "Mozilla/5.0 (X11; Linux x86_64)"})
            EXPECT_TRUE(is_indented(agent, "", path)) << agent;
        EXPECT_FALSE(is_indented("kubectl/v1.36.0", "", path));
        EXPECT_FALSE(is_indented("curl/8.9.1", "pretty=0", path));
        EXPECT_FALSE(is_indented("kubectl/v1.36.0", "pretty=", path));
        EXPECT_TRUE(is_indented("kubectl/v1.36.0", "pretty=T", path));
    }
}

TEST_F(Watches, TellWhatIsThereAndThenEveryChange) {
    post(ConfigMaps, config_map("a"));
    WatchReader events = watch(ConfigMaps, "");
    EXPECT_EQ(events.next(), "ADDED a");
    post(ConfigMaps, config_map("b"));
    EXPECT_EQ(events.next(), "ADDED b");
    merge(std::string(ConfigMaps) + "/b", R"({"data":{"k":"w"}})");
    EXPECT_EQ(events.next(), "MODIFIED b");
    remove(std::string(ConfigMaps) + "/a");
    EXPECT_EQ(events.next(), "DELETED a");
    EXPECT_EQ(events.next(), "");
}

TEST_F(Watches, MayAskForAnyTime) {
    WatchReader events = watch(ConfigMaps, "timeoutSeconds=9223372036854775807");
    loop.advance(std::chrono::hours(3));
    post(ConfigMaps, config_map("a"));
    EXPECT_EQ(events.next(), "ADDED a");
}

TEST_F(Watches, ShowAgesOfTheMomentInTables) {
    auto stream = sim::run(loop, transport->watch({.method = "GET",
                                                   .path = Pods,
                                                   .query = "watch=true",
                                                   .accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}));
    ASSERT_TRUE(stream) << stream.error().message;
    WatchReader events(loop, std::move(*stream));
    loop.advance(std::chrono::seconds(30));
    post(Pods, pod("late"));
    EXPECT_EQ(events.next(), "ADDED");
    const auto age = [&] { return events.last.find("object")->find("rows")->as_array().at(0).find("cells")->as_array().at(4).as_string(); };
    EXPECT_EQ(age(), "0s");
    EXPECT_TRUE(events.last.find("object")->find("columnDefinitions")->is_array());
    loop.advance(std::chrono::seconds(20));
    merge(std::string(Pods) + "/late", R"({"metadata":{"labels":{"a":"b"}}})");
    EXPECT_EQ(events.next(), "MODIFIED");
    EXPECT_EQ(age(), "20s");
    EXPECT_TRUE(events.last.find("object")->find("columnDefinitions")->is_null()) << "told once";
}

TEST_F(Watches, GoOnFromAVersion) {
    const std::string version(post(ConfigMaps, config_map("a")).at({"metadata", "resourceVersion"}));
    post(ConfigMaps, config_map("b"));
    WatchReader events = watch(ConfigMaps, "resourceVersion=" + version);
    EXPECT_EQ(events.next(), "ADDED b");
    EXPECT_EQ(events.next(), "");
}

TEST_F(Watches, TurnLeavingASelectionIntoDeletion) {
    WatchReader events = watch(ConfigMaps, "labelSelector=app%3Dx");
    post(ConfigMaps, config_map("a", "y"));
    merge(std::string(ConfigMaps) + "/a", R"({"metadata":{"labels":{"app":"x"}}})");
    EXPECT_EQ(events.next(), "ADDED a");
    merge(std::string(ConfigMaps) + "/a", R"({"data":{"k":"2"}})");
    EXPECT_EQ(events.next(), "MODIFIED a");
    const Answer left = merge(std::string(ConfigMaps) + "/a", R"({"metadata":{"labels":{"app":"y"}}})");
    EXPECT_EQ(events.next(), "DELETED a");
    EXPECT_EQ(events.last.string_at({"object", "metadata", "resourceVersion"}), left.at({"metadata", "resourceVersion"}));
    EXPECT_EQ(events.last.string_at({"object", "metadata", "labels", "app"}), "x") << "as it was when it was last seen";
    remove(std::string(ConfigMaps) + "/a");
    EXPECT_EQ(events.next(), "");
}

TEST_F(Watches, FollowOneNodesPods) {
    WatchReader events = watch("/api/v1/pods", "fieldSelector=spec.nodeName%3Dn1");
    post(Pods, pod("other", R"(,"nodeName":"n2")"));
    post(Pods, pod("mine", R"(,"nodeName":"n1")"));
    EXPECT_EQ(events.next(), "ADDED mine");
    EXPECT_EQ(events.next(), "");
}

TEST_F(Watches, SendBookmarksEveryMinuteAndEndInTime) {
    WatchReader events = watch(ConfigMaps, "allowWatchBookmarks=true&timeoutSeconds=90&resourceVersion=" +
                                               std::string(get(ConfigMaps).at({"metadata", "resourceVersion"})));
    EXPECT_EQ(events.next(std::chrono::seconds(59)), "");
    EXPECT_EQ(events.next(std::chrono::seconds(2)), "BOOKMARK");
    EXPECT_EQ(events.last.string_at({"object", "kind"}), "ConfigMap");
    post(ConfigMaps, config_map("a"));
    EXPECT_EQ(events.next(), "ADDED a") << "a bookmark loses nothing";
    EXPECT_EQ(events.next(std::chrono::seconds(40)), "BOOKMARK") << "one more before the end";
    EXPECT_EQ(events.next(), "END");
}

TEST_F(Watches, MarkTheEndOfTheInitialEvents) {
    post(ConfigMaps, config_map("a"));
    WatchReader events = watch(ConfigMaps, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true");
    EXPECT_EQ(events.next(), "ADDED a");
    EXPECT_EQ(events.next(), "BOOKMARK");
    EXPECT_EQ(events.last.string_at({"object", "metadata", "annotations", "k8s.io/initial-events-end"}), "true");
}

TEST_F(Watches, MarkTheEndOfTheInitialEventsInATable) {
    auto stream = sim::run(loop, transport->watch({.method = "GET",
                                                   .path = ConfigMaps,
                                                   .query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                                                            "allowWatchBookmarks=true",
                                                   .accept = "application/json;as=Table;v=v1;g=meta.k8s.io"}));
    ASSERT_TRUE(stream) << stream.error().message;
    WatchReader events(loop, std::move(*stream));
    ASSERT_EQ(events.next(), "BOOKMARK");
    const schema::Array& rows = events.last.at_path({"object", "rows"})->as_array();
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].string_at({"object", "metadata", "annotations", "k8s.io/initial-events-end"}), "true");
    EXPECT_EQ(rows[0].string_at({"object", "kind"}), "PartialObjectMetadata");
}

// API-22
TEST_F(Watches, EndWithExpiredWhenHistoryIsGone) {
    const std::string version(post(ConfigMaps, config_map("a")).at({"metadata", "resourceVersion"}));
    for (int i = 0; i < 3; ++i) merge(std::string(ConfigMaps) + "/a", R"({"data":{"k":")" + std::to_string(i) + R"("}})");
    ASSERT_TRUE(sim::run(loop, api->store().compact(api->store().revision())));
    WatchReader events = watch(ConfigMaps, "resourceVersion=" + version);
    EXPECT_EQ(events.next(), "ERROR");
    EXPECT_EQ(events.last.string_at({"object", "reason"}), "Expired");
    EXPECT_EQ(events.last.find("object")->find("code")->as_int(), 410);
    EXPECT_EQ(events.next(), "END");
    EXPECT_EQ(get(std::string(ConfigMaps) + "?resourceVersionMatch=Exact&resourceVersion=" + version).code, 410);
}

}  // namespace
}  // namespace porthole::apiserver
