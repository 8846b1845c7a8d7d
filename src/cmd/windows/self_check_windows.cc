#include <algorithm>
#include <cstdio>

#include "cmd/program/flags.h"
#include "cmd/program/runtime_setup.h"
#include "cmd/self_check/check.h"
#include "cmd/windows/roles.h"
#include "hns/assumptions/check.h"
#include "hns/client.h"
#include "hns/dll/load_hns.h"
#include "kubelet/node/host.h"
#include "node_join/windows_node/host_windows.h"
#include "schema/json/json.h"

namespace porthole::cmd {
namespace {

using schema::Value;
using self_check::Finding;
using Outcome = Finding::Outcome;

constexpr Duration TestLimit = std::chrono::minutes(5);
constexpr const char* AboutSelfCheck =
    "Compare this Windows with Porthole's assumptions about it.\n\n"
    "Porthole's programs were seen under Wine and on emulated hosts, which do what is assumed of Windows. This looks at each assumption on "
    "a\n"
    "Windows Server: at files, access lists, programs, services and others in a directory of its own, and at the host network service by\n"
    "networks, endpoints, namespaces and load balancers called porthole-self-check; all of it is removed again. Pods and networks that "
    "are\n"
    "there are left alone. The report holds the Windows and HNS versions, what differs, and what was not checked: read it and send it to "
    "the\n"
    "project, whose emulator and tests then do what your host does.\n";

struct Options {
    std::vector<std::string> names;
    std::string file = "porthole-self-check.json", adapter, tests;
    bool list = false;

    /// Whether an assumption is among those that were asked for, by its area or by its own name.
    bool wants(const std::string& area, const std::string& id) const {
        return names.empty() || std::ranges::find(names, area) != names.end() || std::ranges::find(names, id) != names.end();
    }
};

Value host_facts(RealWorld& world) {
    const auto own = hns::own_hns(world.loop, *world.pool);
    const auto files = make_file_system();
    const auto facts = kubelet::make_host(*files)->describe();
    const auto features = world.run(hns::Client(*own).features());
    const std::string version =
        features ? std::to_string(features->version.major) + "." + std::to_string(features->version.minor) : features.error().message;
    return Value::object({{"system", facts.os_image},
                          {"version", facts.kernel_version},
                          {"hns", version},
                          {"administrator", node_join::is_elevated()},
                          {"emulated", self_check::is_wine()}});
}

void add(std::vector<Finding>& findings, Finding finding) {
    std::fputs(text_of(findings.emplace_back(std::move(finding))).c_str(), stdout);
    std::fflush(stdout);
}

void check_hns(RealWorld& world, const Options& options, std::vector<Finding>& findings) {
    const auto service = hns::load_hns(world.loop, *world.pool);
    std::string gone = service ? "" : service.error().message;
    for (const hns::Assumption& assumption : hns::assumptions()) {
        if (!options.wants("hns", assumption.id)) continue;
        hns::CheckedAssumption checked{assumption, {}};
        if (gone.empty()) {
            auto finding = world.run(hns::check(world.loop, **service, assumption, options.adapter));
            if (finding)
                checked.finding = *std::move(finding);
            else
                gone = finding.error().message;
        }
        if (!gone.empty()) checked.finding.differences.push_back(gone);
        add(findings, self_check::of_hns(checked));
    }
}

/// In each process that a probe starts, this program plays a part and nothing else.
std::vector<std::string> part_command() { return {node_join::own_program().string(), "self-check"}; }

void check_windows(RealWorld& world, const Options& options, std::vector<Finding>& findings) {
    for (const self_check::Assumption& assumption : self_check::assumptions())
        if (options.wants(assumption.area, assumption.id)) add(findings, self_check::check(world, assumption, part_command()));
}

int print_list(const Options& options) {
    const auto print = [&](const std::string& area, const std::string& id, const std::string& needs, const std::string& says) {
        if (options.wants(area, id))
            std::printf("%-9s  %-32s  %-13s  %s\n", area.c_str(), id.c_str(), needs.empty() ? "-" : needs.c_str(), says.c_str());
    };
    std::printf("%-9s  %-32s  %-13s  %s\n", "AREA", "NAME", "NEEDS", "ASSUMPTION");
    for (const self_check::Assumption& one : self_check::assumptions()) print(one.area, one.id, one.needs, one.says);
    for (const hns::Assumption& one : hns::assumptions()) print("hns", one.id, one.needs_adapter ? "adapter" : "", one.says);
    return 0;
}

/// "" if each name is one.
std::string unknown_name(const Options& options) {
    for (const std::string& name : options.names) {
        const auto is_it = [&](const auto& one) { return one.id == name; };
        const bool known =
            name == "hns" || std::ranges::any_of(hns::assumptions(), is_it) ||
            std::ranges::any_of(self_check::assumptions(), [&](const auto& one) { return one.id == name || one.area == name; });
        if (!known) return name;
    }
    return "";
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
    if (const auto played = self_check::play_part(arguments)) return *played;
    Options options;
    CLI::App app(AboutSelfCheck, "self-check");
    app.add_option("NAME", options.names, "only these assumptions, by area or name (default: all)");
    app.add_flag("--list", options.list, "print the assumptions with their areas and what they need, and check nothing");
    app.add_option("--report", options.file, "file for the report; an existing file is replaced")->capture_default_str();
    app.add_option("--adapter", options.adapter,
                   "also create L2Bridge and overlay networks on this adapter (\"Ethernet\"); this interrupts its connections for some "
                   "seconds, and it must have no other network");
    app.add_option(
        "--tests", options.tests,
        "also run the test programs in this directory, unpacked from the zip file of tests; the report contains the output of failures");
    if (const auto code = parse_flags(app, std::move(arguments))) return *code;
    if (const std::string name = unknown_name(options); !name.empty())
        return fail("there is no assumption and no area \"" + name + "\": `self-check --list` prints them");
    if (options.list) return print_list(options);

    RealWorld world;
    Value host = host_facts(world);
    std::printf("%s %s, HNS %s%s\n", std::string(host.string_at({"system"})).c_str(), std::string(host.string_at({"version"})).c_str(),
                std::string(host.string_at({"hns"})).c_str(), self_check::is_wine() ? ", emulated: of Windows this says nothing" : "");
    std::vector<Finding> findings;
    check_windows(world, options, findings);
    check_hns(world, options, findings);

    const auto count = [&](Outcome outcome) { return std::ranges::count(findings, outcome, &Finding::outcome); };
    const auto differ = count(Outcome::Differs), as_wine = count(Outcome::AsWine);
    std::printf("%td as assumed, %td differ, %td not run", count(Outcome::AsAssumed), differ, count(Outcome::NotRun));
    std::printf(as_wine ? ", %td as Wine\n" : "\n", as_wine);
    Value report = report_of(std::move(host), findings);
    bool pass = true;
    if (!options.tests.empty()) {
        auto results = run_tests(world, options.tests);
        if (!results) return fail(results.error().message);
        pass = std::ranges::all_of(results->as_array(), [](const Value& one) { return schema::at(one, "passes").bool_or(false); });
        report.as_object().append("tests", *std::move(results));
    }
    const auto written = make_file_system()->write(options.file, schema::to_pretty_json(report) + "\n", 0644);
    if (!written) return fail(written.error().message);
    std::printf("%s: the report\n", options.file.c_str());
    return differ || !pass ? 1 : 0;
}

}  // namespace porthole::cmd
