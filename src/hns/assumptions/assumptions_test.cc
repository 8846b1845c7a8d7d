#include "hns/assumptions/assumptions.h"

#include "hns/assumptions/check.h"
#include "hns/assumptions/report.h"
#include "hns/emulator/emulator_fixture.h"
#include "schema/json/json.h"

namespace porthole::hns {
namespace {

using Outcome = Finding::Outcome;

/// An emulated host with an adapter called Ethernet.
class AssumptionsTest : public emulator::EmulatorFixture {
protected:
    Finding checked(const Assumption& assumption, const std::string& adapter = "Ethernet") {
        return get(check(loop, emulator(), assumption, adapter));
    }
    /// One assumption, of one line for each call.
    Finding checked(const std::string& calls) {
        const auto parsed = parse_assumptions("assumptions: [{id: one, calls: [" + calls + "]}]");
        EXPECT_TRUE(parsed) << parsed.error().message;
        return checked(parsed->front());
    }
    static std::string joined(const Finding& finding) {
        std::string text;
        for (const std::string& one : finding.differences) text += one + "\n";
        return text;
    }
};

/// EMU-08: the emulator does what is assumed of a host, on every release that it stands for.
TEST_F(AssumptionsTest, HoldOfTheEmulator) {
    for (const char* release : {"2019", "2022", "2025"}) {
        SCOPED_TRACE(release);
        restart(release);
        for (const Assumption& assumption : assumptions()) {
            const Finding finding = checked(assumption);
            EXPECT_EQ(finding.outcome, Outcome::AsAssumed) << assumption.id << ": " << joined(finding);
            EXPECT_EQ(finding.observed.size(), assumption.calls.size()) << assumption.id;
            EXPECT_TRUE(emulator().model().networks.empty() && emulator().model().namespaces.empty() &&
                        emulator().model().load_balancers.empty())
                << assumption.id << " leaves something behind";
        }
    }
}

TEST_F(AssumptionsTest, ThatNeedAnAdapterAreNotCheckedWithoutOne) {
    start();
    for (const Assumption& assumption : assumptions())
        EXPECT_EQ(checked(assumption, "").outcome == Outcome::NotRun, assumption.needs_adapter) << assumption.id;
}

TEST_F(AssumptionsTest, TellWhatDiffers) {
    start();
    const std::string net = "{create: Network, as: net, settings: {SchemaVersion: {Major: 2}, Name: a, Type: Internal}}";
    const struct {
        const char *calls, *differences;
    } rows[] = {
        {"{query: no-network}", "query no-network: fails with HCN_E_NETWORK_NOT_FOUND\n"},
        {"{query: no-network, fails: E_UNEXPECTED}", "query no-network: fails with HCN_E_NETWORK_NOT_FOUND instead of E_UNEXPECTED\n"},
        {"{enumerate: Network, fails: E_UNEXPECTED}", "enumerate Network: succeeds instead of failing with E_UNEXPECTED\n"},
        {"NET, {query: net, shows: {Name: b, ID: '${net}'}}",
         "query net: shows {\"Name\":\"a\",\"ID\":\"${net}\"} instead of {\"Name\":\"b\",\"ID\":\"${net}\"}\n"},
        {"NET, {v1: GET, path: '/networks/${net}', shows: {Success: false}}",
         "GET /networks/${net}: shows {\"Success\":true} instead of {\"Success\":false}\n"},
        {"{create: Network, as: net, text: '{'}, {query: net}", "create Network: fails with HCN_E_INVALID_JSON\n"},
    };
    for (const auto& row : rows) {
        std::string calls = row.calls;
        if (calls.starts_with("NET")) calls.replace(0, 3, net);
        const Finding finding = checked(calls);
        EXPECT_EQ(finding.outcome, Outcome::Differs);
        EXPECT_EQ(joined(finding), row.differences);
    }
    EXPECT_TRUE(emulator().model().networks.empty());
}

TEST_F(AssumptionsTest, WaitForWhatComesLater) {
    start();
    const auto overlay = std::ranges::find(assumptions(), "overlay-shows-its-addresses", &Assumption::id);
    Assumption at_once = *overlay;
    at_once.calls.back().within = {};
    EXPECT_EQ(checked(*overlay).outcome, Outcome::AsAssumed);
    EXPECT_EQ(checked(at_once).outcome, Outcome::Differs);
}

/// A report is what the emulator has to do from then on: read back, it holds of the host that it is of, and names nothing of it.
TEST_F(AssumptionsTest, AReportOfAHostIsReadAsItsAssumptions) {
    start();
    Assumption wrong = parse_assumptions(
                           "assumptions: [{id: wrong, says: s, needs: adapter, calls: [{query: no-network, fails: E_UNEXPECTED}, "
                           "{create: Network, as: net, settings: {SchemaVersion: {Major: 2}, Name: a, Type: L2Bridge, Policies: "
                           "[{Type: NetAdapterName, Settings: {NetworkAdapterName: '${adapter}'}}]}}, "
                           "{query: net, shows: {Name: b, Policies: [{Type: Nothing, Settings: {NetworkAdapterName: x}}]}}]}]")
                           ->front();
    schema::Value all = schema::Value::array({schema::Value::object({{"area", "files"}, {"id", "of-another-area"}, {"shows", true}})});
    for (const Assumption& assumption : assumptions()) all.as_array().push_back(report_of({assumption, checked(assumption)}));
    all.as_array().push_back(report_of({wrong, checked(wrong)}));
    const std::string report = schema::to_json(schema::Value::object({{"assumptions", std::move(all)}}));
    EXPECT_EQ(report.find("\"Ethernet\""), report.npos);

    const auto read = parse_assumptions(report);
    ASSERT_TRUE(read) << read.error().message;
    for (const Assumption& assumption : *read) {
        const Finding finding = checked(assumption);
        EXPECT_EQ(finding.outcome, Outcome::AsAssumed) << assumption.id << ": " << joined(finding);
    }
    EXPECT_EQ(read->back().calls.front().fails, "HCN_E_NETWORK_NOT_FOUND");
    EXPECT_EQ(checked(wrong).outcome, Outcome::Differs);
}

TEST(ParseAssumptions, RefusesWhatIsNone) {
    const struct {
        const char *text, *error;
    } rows[] = {
        {"[]", "\"assumptions\" must be a list of at most 1000 entries"},
        {"assumptions: [{}]", "an assumption has no id"},
        {"assumptions: [{id: a}]", "a: needs 1 to 100 calls"},
        {"assumptions: [{id: a, calls: [1]}]", "a: a call is not an object"},
        {"assumptions: [{id: a, calls: [{create: Pod}]}]", "a: there is no kind \"Pod\""},
        {"assumptions: [{id: a, calls: [{}]}]", "a: a call says neither create, query, modify, remove, enumerate nor v1"},
    };
    for (const auto& row : rows) {
        const auto parsed = parse_assumptions(row.text);
        ASSERT_FALSE(parsed) << row.text;
        EXPECT_EQ(parsed.error().message, row.error);
    }
}

}  // namespace
}  // namespace porthole::hns
