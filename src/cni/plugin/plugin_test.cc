#include "cni/plugin/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cni/plugin/delegate.h"
#include "cni/plugin/errors.h"
#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"
#include "schema/json/json.h"

namespace porthole::cni {
namespace {

using schema::Value;
using testing::HasSubstr;

class OneAddress final : public Plugin {
public:
    Task<CniResult> add(CniRequest) override {
        if (failure) co_return *failure;
        CniResult result;
        result.interfaces = {{"eth0", "00-15-5D-00-00-01", ""}};
        result.ips = {{.address = IpAddress::parse("10.244.3.7").value(),
                       .prefix_length = 24,
                       .gateway = IpAddress::parse("10.244.3.2").value(),
                       .interface = 0}};
        result.routes = {{IpPrefix::parse("0.0.0.0/0").value(), IpAddress::parse("10.244.3.2").value()}};
        result.dns = {.nameservers = {"10.96.0.10"}, .search = {"default.svc.cluster.local"}};
        co_return result;
    }
    Task<> remove(CniRequest) override {
        ++removed;
        co_return {};
    }
    Task<> check(CniRequest) override { co_return cni_error(CniCode::UnknownContainer, "gone"); }
    Task<> status(CniRequest) override { co_return {}; }
    Task<> collect(CniRequest request) override {
        kept = valid_attachments(request);
        co_return {};
    }
    std::optional<Error> failure;
    int removed = 0;
    std::vector<std::pair<std::string, std::string>> kept;
};

struct Call {
    sim::SimLoop loop;
    OneAddress plugin;
    std::map<std::string, std::string> environment{
        {"CNI_COMMAND", "ADD"}, {"CNI_CONTAINERID", "abc"}, {"CNI_NETNS", "4b5e"}, {"CNI_IFNAME", "eth0"}};

    CniOutput run(const std::string& config) { return sim::run(loop, serve_cni(plugin, environment, config, ';')).value(); }
    Value document(const std::string& config) { return schema::parse_json(run(config).text).value(); }
};

std::string config(const std::string& version, const std::string& more = "") {
    return R"({"cniVersion":")" + version + R"(","name":"cbr0","type":"win-bridge")" + more + "}";
}

TEST(CniProtocol, ListsItsVersions) {
    Call call;
    call.environment = {{"CNI_COMMAND", "VERSION"}};
    EXPECT_EQ(call.run(R"({"cniVersion":"0.4.0"})").text,
              "{\"cniVersion\":\"0.4.0\",\"supportedVersions\":[\"0.1.0\",\"0.2.0\",\"0.3.0\",\"0.3.1\",\"0.4.0\",\"1.0.0\",\"1.1.0\"]}\n");
}

// NET-32, LIM-17
TEST(CniProtocol, NET32_AnswersInTheVersionOfTheConfiguration) {
    Call call;
    const Value old = call.document(config("0.2.0"));
    EXPECT_EQ(old.string_at({"ip4", "ip"}), "10.244.3.7/24");
    EXPECT_EQ(old.string_at({"ip4", "gateway"}), "10.244.3.2");
    EXPECT_FALSE(old.find("interfaces"));
    const Value middle = call.document(config("0.3.1"));
    EXPECT_EQ(middle.find("ips")->as_array()[0].string_at({"version"}), "4");
    EXPECT_EQ(middle.find("interfaces")->as_array()[0].string_at({"mac"}), "00-15-5D-00-00-01");
    const Value now = call.document(config("1.0.0"));
    EXPECT_FALSE(now.find("ips")->as_array()[0].find("version"));
    EXPECT_EQ(schema::to_json(*now.find("dns")), R"({"nameservers":["10.96.0.10"],"search":["default.svc.cluster.local"]})");
    for (const Value* result : {&old, &middle, &now}) {
        const CniResult read = read_result(*result).value();
        ASSERT_EQ(read.ips.size(), 1u);
        EXPECT_EQ(read.ips[0].gateway->to_string(), "10.244.3.2");
        EXPECT_EQ(read.dns.nameservers, (std::vector<std::string>{"10.96.0.10"}));
    }
}

TEST(CniProtocol, RefusesWhatItCannotServe) {
    const struct {
        const char* name;
        const char* variable;
        const char* value;
        std::string config;
        int code;
        const char* message;
    } rows[] = {
        {"no container", "CNI_CONTAINERID", "", config("0.4.0"), 4, "required env variables [CNI_CONTAINERID] missing"},
        {"no namespace", "CNI_NETNS", "", config("0.4.0"), 4, "required env variables [CNI_NETNS] missing"},
        {"odd container", "CNI_CONTAINERID", "../x", config("0.4.0"), 4, "characters that are not valid in an ID"},
        {"odd interface", "CNI_IFNAME", "a/b", config("0.4.0"), 4, "not a valid interface name"},
        {"odd command", "CNI_COMMAND", "PATCH", config("0.4.0"), 4, "unknown CNI_COMMAND: PATCH"},
        {"version of tomorrow", "CNI_IFNAME", "eth0", config("2.0.0"), 1, "incompatible CNI versions"},
        {"CHECK before it was there", "CNI_COMMAND", "CHECK", config("0.3.1"), 1, "config version does not allow CHECK"},
        {"GC before it was there", "CNI_COMMAND", "GC", config("1.0.0"), 1, "config version does not allow GC"},
        {"no name", "CNI_IFNAME", "eth0", R"({"cniVersion":"0.4.0"})", 7, "missing network name"},
        {"odd name", "CNI_IFNAME", "eth0", R"({"cniVersion":"0.4.0","name":"a/b"})", 7, "invalid characters"},
        {"odd pair", "CNI_ARGS", "nonsense", config("0.4.0"), 4, "CNI_ARGS"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        Call call;
        call.environment[row.variable] = row.value;
        const CniOutput output = call.run(row.config);
        EXPECT_EQ(output.exit_code, 1);
        const Value document = schema::parse_json(output.text).value();
        EXPECT_EQ(document.find("code")->as_int(), row.code);
        EXPECT_THAT(std::string(document.string_at({"msg"})), HasSubstr(row.message));
    }
}

// NET-21
TEST(CniProtocol, NET21_SaysWhereTheConfigurationIsNoJson) {
    Call call;
    const Value document = call.document("{\n  \"cniVersion\": \"0.2.0\",\n  # the type\n  \"name\": \"l2bridge\"\n}\n");
    EXPECT_EQ(document.find("code")->as_int(), 6);
    EXPECT_THAT(std::string(document.string_at({"msg"})), HasSubstr("line 3, column 3"));
    EXPECT_THAT(std::string(document.string_at({"msg"})), HasSubstr("JSON does not allow comments"));
}

TEST(CniProtocol, TellsThePluginsOwnErrors) {
    Call call;
    call.plugin.failure = Error(Reason::Unavailable, "later");
    EXPECT_EQ(call.document(config("0.4.0")).find("code")->as_int(), 11);
    call.plugin.failure = Error(Reason::InternalError, "no");
    EXPECT_EQ(call.document(config("0.4.0")).find("code")->as_int(), 999);
    call.environment["CNI_COMMAND"] = "CHECK";
    EXPECT_EQ(call.document(config("0.4.0")).find("code")->as_int(), 3);
}

TEST(CniProtocol, DeletesWithoutANamespaceAndPrintsNothing) {
    Call call;
    call.environment["CNI_COMMAND"] = "DEL";
    call.environment["CNI_NETNS"] = "";
    const CniOutput output = call.run(config("0.4.0"));
    EXPECT_EQ(output.exit_code, 0);
    EXPECT_EQ(output.text, "");
    EXPECT_EQ(call.plugin.removed, 1);
}

TEST(CniProtocol, CollectsWhatTheRuntimeNoLongerLists) {
    Call call;
    call.environment = {{"CNI_COMMAND", "GC"}};
    EXPECT_EQ(call.run(config("1.1.0", R"(,"cni.dev/valid-attachments":[{"containerID":"abc","ifname":"eth0"}])")).exit_code, 0);
    EXPECT_EQ(call.plugin.kept, (std::vector<std::pair<std::string, std::string>>{{"abc", "eth0"}}));
}

class FakePrograms final : public ProcessRunner {
public:
    Task<CommandOutput> run(Command command) override {
        ran.push_back(command);
        co_return answer;
    }
    std::vector<Command> ran;
    CommandOutput answer;
};

TEST(CniDelegates, FindsProgramsInThePathAndReadsTheirAnswers) {
    sim::SimLoop loop;
    sim::MemoryFileSystem files(loop);
    ASSERT_TRUE(files.create_directories("/bin", 0755));
    ASSERT_TRUE(files.write("/bin/other.exe", "", 0755));
    FakePrograms programs;
    Delegates delegates(files, &programs, ".exe");
    OneAddress own;
    delegates.add("host-local", own);
    CniRequest request{.command = "ADD", .container_id = "abc", .path = {"/nowhere", "/bin"}, .environment = {{"CNI_COMMAND", "DEL"}}};

    EXPECT_EQ(sim::run(loop, delegates.add_by("host-local.exe", request, Value::object({{"name", "n"}}))).value().ips.size(), 1u);
    EXPECT_TRUE(programs.ran.empty());

    programs.answer = {0, R"({"cniVersion":"0.4.0","ips":[{"version":"4","address":"10.1.0.5/16"}]})", ""};
    const auto result = sim::run(loop, delegates.add_by("other", request, Value::object({{"name", "n"}})));
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->ips[0].address.to_string(), "10.1.0.5");
    ASSERT_EQ(programs.ran.size(), 1u);
    EXPECT_EQ(programs.ran[0].arguments[0], "/bin/other.exe");
    EXPECT_EQ(programs.ran[0].environment.at("CNI_COMMAND"), "ADD");

    programs.answer = {1, R"({"cniVersion":"0.4.0","code":11,"msg":"later"})", ""};
    const auto failed = sim::run(loop, delegates.call("other", "DEL", request, Value::object({{"name", "n"}})));
    ASSERT_FALSE(failed);
    EXPECT_EQ(code_of(failed.error()), 11u);
    const auto none = sim::run(loop, delegates.add_by("third", request, Value::object()));
    ASSERT_FALSE(none);
    EXPECT_THAT(none.error().message, HasSubstr("failed to find plugin \"third\" in path [/nowhere /bin]"));
}

}  // namespace
}  // namespace porthole::cni
