#include "apiserver/resources/version_converter.h"

#include <gtest/gtest.h>

#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using schema::Value;

/// Takes a second, and changes apiVersion, or fails.
struct SlowConverter final : ObjectConverter {
    explicit SlowConverter(EventLoop& given) : loop(given) {}
    Task<std::vector<Value>> convert(std::vector<Value> objects, std::string api_version) override {
        ++asked;
        CO_TRY_VOID(co_await loop.sleep(1s));
        if (fails) co_return Error(Reason::Unknown, "no");
        for (Value& one : objects) one["apiVersion"] = api_version;
        co_return objects;
    }
    EventLoop& loop;
    int asked = 0;
    bool fails = false;
};

struct VersionConverterTest : testing::Test {
    VersionConverterTest() {
        kind.group = "example.com";
        kind.version = "v2";
        resource.kind = resource.stored = &kind;
        resource.selectable = std::make_shared<const SelectableFields>();
        resource.form = 7;
        resource.conversion.from_stored = [](Value tree) { return tree; };
    }
    static store::RecordPtr record(const std::string& name, const std::string& version = "v1") {
        store::Record made{.key = "/registry/example.com/x/" + name};
        made.value =
            std::make_shared<const std::string>(R"({"apiVersion":"example.com/)" + version + R"(","metadata":{"name":")" + name + "\"}}");
        return std::make_shared<const store::Record>(std::move(made));
    }
    /// Starts a request for one record; its end is added to `ends`: the apiVersion, or the error's message.
    Task<> request(std::string name) {
        std::vector<store::RecordPtr> one{record(name)};
        auto shown = co_await converter.records(resource, std::move(one));
        ends.push_back(shown ? std::string(schema::parse_json(*shown->front()->value.bytes())->string_at({"apiVersion"}))
                             : shown.error().message);
        co_return {};
    }

    sim::SimLoop loop;
    schema::Kind kind;
    Resource resource;
    ConvertedRecords remembered{10'000};
    SlowConverter* asked = new SlowConverter(loop);
    VersionConverter converter{std::unique_ptr<ObjectConverter>(asked), remembered};
    std::vector<std::string> ends;
};

TEST_F(VersionConverterTest, AsksOnceForWhatManyWant) {
    Scope scope(loop);
    for (int i = 0; i < 50; ++i) scope.spawn(request("a"));
    scope.spawn(request("b"));
    loop.advance(1s);
    EXPECT_EQ(ends, std::vector<std::string>(51, "example.com/v2"));
    EXPECT_EQ(asked->asked, 2);
    scope.spawn(request("a"));
    loop.run_ready();
    EXPECT_EQ(ends.size(), 52u);
    EXPECT_EQ(asked->asked, 2);
    EXPECT_TRUE(sim::run(loop, scope.close()));
}

TEST_F(VersionConverterTest, AFailureIsToldToAllWhoWaitAndNotRemembered) {
    asked->fails = true;
    Scope scope(loop);
    for (int i = 0; i < 5; ++i) scope.spawn(request("a"));
    loop.advance(1s);
    EXPECT_EQ(ends, std::vector<std::string>(5, "no"));
    EXPECT_EQ(asked->asked, 1);
    asked->fails = false;
    scope.spawn(request("a"));
    loop.advance(1s);
    EXPECT_EQ(ends.back(), "example.com/v2");
    EXPECT_TRUE(sim::run(loop, scope.close()));
}

TEST_F(VersionConverterTest, WhoWaitsAsksAgainWhenTheAskingRequestIsCancelled) {
    Scope first(loop), others(loop);
    first.spawn(request("a"));
    loop.run_ready();
    for (int i = 0; i < 5; ++i) others.spawn(request("a"));
    loop.advance(500ms);
    EXPECT_TRUE(sim::run(loop, first.close()));
    ends.clear();
    loop.advance(1s);
    EXPECT_EQ(ends, std::vector<std::string>(5, "example.com/v2"));
    EXPECT_EQ(asked->asked, 2);
    EXPECT_TRUE(sim::run(loop, others.close()));
}

TEST_F(VersionConverterTest, LeavesAloneWhatIsInTheVersionAndWhatCannotBeRead) {
    store::Record broken{.key = "/registry/example.com/x/broken"};
    broken.value = std::make_shared<const std::string>(R"({"apiVersion":"example.com/v1",)");
    const std::vector<store::RecordPtr> records{record("a", "v2"), std::make_shared<const store::Record>(broken), record("a"), record("a")};
    const auto shown = sim::run(loop, converter.records(resource, records));
    ASSERT_TRUE(shown);
    EXPECT_EQ(shown->at(0), records[0]);
    EXPECT_EQ(shown->at(1), records[1]);
    EXPECT_NE(shown->at(2), records[2]);
    EXPECT_EQ(shown->at(3), shown->at(2)) << "twice the same";
    EXPECT_EQ(asked->asked, 1);
}

TEST(ConvertedRecords, KeepsWhatIsAskedForWithinItsBytes) {
    ConvertedRecords remembered(1000);
    const auto put = [&](const std::string& key, std::size_t size) {
        store::Record made;
        made.value = std::make_shared<const std::string>(size, 'x');
        remembered.put(key, std::make_shared<const store::Record>(std::move(made)));
    };
    for (const char* key : {"a", "b", "c"}) put(key, 300);
    EXPECT_TRUE(remembered.find("a"));
    put("d", 300);
    EXPECT_FALSE(remembered.find("b")) << "nobody has asked for it for longest";
    for (const char* key : {"a", "c", "d"}) EXPECT_TRUE(remembered.find(key)) << key;
    EXPECT_LE(remembered.bytes(), 1000u);
    put("huge", 2000);
    EXPECT_TRUE(remembered.find("d")) << "what is larger than all that is kept makes nothing go";
}

}  // namespace
}  // namespace porthole::apiserver
