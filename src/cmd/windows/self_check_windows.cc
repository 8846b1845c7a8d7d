#include <windows.h>

#include <algorithm>
#include <cstdio>

#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/windows/roles.h"
#include "hns/assumptions/check.h"
#include "hns/assumptions/report.h"
#include "hns/client.h"
#include "hns/dll/load_hns.h"
#include "kubelet/node/host.h"
#include "schema/json/json.h"

namespace porthole::cmd {
namespace {

using hns::Finding;
using schema::Value;

constexpr Duration TestLimit = std::chrono::minutes(5);
constexpr const char* AboutSelfCheck =
    "Compare this host's network service with Porthole's assumptions about it.\n\n"
    "Porthole's emulated Windows hosts, and so its tests, do what is assumed of Windows. On a Windows Server this makes networks, "
    "endpoints,\n"
    "namespaces and load balancers called porthole-self-check one after the other, looks at what the service answers, and removes them.\n"
    "Pods and networks that are there are left alone. The report holds the Windows and HNS versions, and what differs: read it and send "
    "it\n"
    "to the project, whose emulator then does what your host does.\n";

/// Programs see it under Wine alone.
bool is_wine() { return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr; }

Value host_facts(RealWorld& world, hns::Hns& hns) {
    const auto files = make_file_system();
    const auto facts = kubelet::make_host(*files)->describe();
    const auto features = world.run(hns::Client(hns).features());
    const std::string version =
        features ? std::to_string(features->version.major) + "." + std::to_string(features->version.minor) : features.error().message;
    return Value::object({{"system", facts.os_image}, {"version", facts.kernel_version}, {"hns", version}, {"emulated", is_wine()}});
}

void print(const hns::CheckedAssumption& checked) {
    const Finding& finding = checked.finding;
    const char* mark = finding.outcome == Finding::Outcome::AsAssumed ? "as assumed"
                       : finding.outcome == Finding::Outcome::Differs ? "DIFFERS   "
                                                                      : "not run   ";
    std::printf("  %s  %s: %s\n", mark, checked.assumption.id.c_str(), checked.assumption.says.c_str());
    for (const std::string& difference : finding.differences) std::printf("              %s\n", difference.c_str());
    std::fflush(stdout);
}

Result<std::vector<hns::CheckedAssumption>> check_all(RealWorld& world, hns::Hns& hns, const std::string& adapter) {
    std::vector<hns::CheckedAssumption> all;
    for (const hns::Assumption& assumption : hns::assumptions()) {
        TRY(Finding finding, world.run(hns::check(world.loop, hns, assumption, adapter)));
        print(all.emplace_back(assumption, std::move(finding)));
    }
    return all;
}

/// The end of what a program printed, where its failures are.
std::string tail(const std::string& output) {
    constexpr std::size_t Most = 4000;
    return output.size() <= Most ? output : output.substr(output.size() - Most);
}

/// Runs the test programs of the folder, which under Wine have passed, one after the other.
Result<Value> run_tests(RealWorld& world, const std::string& folder) {
    const auto files = make_file_system();
    TRY(const std::vector<std::string> names, files->list(folder));
    Value results = Value::array();
    for (const std::string& name : names) {
        if (!name.ends_with("_test.exe")) continue;
        const auto ran = world.run(world.processes->run({.arguments = {folder + "\\" + name, "--gtest_brief=1"}, .limit = TestLimit}));
        const bool passes = ran && ran->exit_code == 0;
        std::printf("  %s  %s\n", passes ? "passes    " : "FAILS     ", name.c_str());
        std::fflush(stdout);
        Value result = Value::object({{"program", name}, {"passes", passes}});
        if (!passes) result.as_object().append("output", ran ? tail(ran->output + ran->errors) : ran.error().message);
        results.as_array().push_back(std::move(result));
    }
    return results;
}

}  // namespace

int run_self_check(std::vector<std::string> arguments) {
    std::string file = "porthole-self-check.json", adapter, tests;
    CLI::App app(AboutSelfCheck, "self-check");
    app.add_option("REPORT", file, "file for the report; an existing file is replaced")->capture_default_str();
    app.add_option("--adapter", adapter,
                   "also create L2Bridge and overlay networks on this adapter (\"Ethernet\"); this interrupts its connections for some "
                   "seconds, and it must have no other network");
    app.add_option(
        "--tests", tests,
        "also run the test programs in this directory, unpacked from the zip file of tests; the report contains the output of failures");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;

    RealWorld world;
    const auto own = hns::own_hns(world.loop, *world.pool);
    Value host = host_facts(world, *own);
    std::printf("%s %s, HNS %s%s\n", std::string(host.string_at({"system"})).c_str(), std::string(host.string_at({"version"})).c_str(),
                std::string(host.string_at({"hns"})).c_str(), is_wine() ? ", emulated: of Windows this says nothing" : "");
    const auto checked = check_all(world, *own, adapter);
    if (!checked) return fail(checked.error().message);

    const auto count = [&](Finding::Outcome outcome) {
        return std::ranges::count_if(*checked, [&](const auto& one) { return one.finding.outcome == outcome; });
    };
    const auto differ = count(Finding::Outcome::Differs);
    std::printf("%td as assumed, %td differ, %td not run\n", count(Finding::Outcome::AsAssumed), differ, count(Finding::Outcome::NotRun));
    Value report = hns::report_of(std::move(host), *checked);
    bool pass = true;
    if (!tests.empty()) {
        auto results = run_tests(world, tests);
        if (!results) return fail(results.error().message);
        pass = std::ranges::all_of(results->as_array(), [](const Value& one) { return schema::at(one, "passes").bool_or(false); });
        report.as_object().append("tests", *std::move(results));
    }
    const auto written = make_file_system()->write(file, schema::to_pretty_json(report) + "\n", 0644);
    if (!written) return fail(written.error().message);
    std::printf("%s: the report\n", file.c_str());
    return differ || !pass ? 1 : 0;
}

}  // namespace porthole::cmd
