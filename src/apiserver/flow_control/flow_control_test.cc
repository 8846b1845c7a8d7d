#include "apiserver/flow_control/flow_control.h"

#include <gtest/gtest.h>

#include <deque>

#include "apiserver/flow_control/default_configuration.h"
#include "runtime/scope.h"
#include "runtime/sim/sim_loop.h"
#include "runtime/work_clock_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;
using namespace api::flowcontrol::v1;

PriorityLevelConfiguration level(const std::string& name, std::int32_t shares, std::int32_t queue_length = 5) {
    PriorityLevelConfiguration made;
    made.metadata.name = name;
    made.metadata.uid = "uid-of-level-" + name;
    made.spec.type = "Limited";
    auto& limited = made.spec.limited.emplace();
    limited.nominal_concurrency_shares = shares;
    limited.lendable_percent = 0;
    limited.borrowing_limit_percent = 0;
    limited.limit_response.type = "Queue";
    limited.limit_response.queuing.emplace() = {.queues = 64, .hand_size = 1, .queue_length_limit = queue_length};
    return made;
}

/// Everything that `user` asks for goes to a level.
FlowSchema schema(const std::string& name, const std::string& level_name, const std::string& group) {
    FlowSchema made = default_flow_schemas().back();
    made.metadata.name = name;
    made.metadata.uid = "uid-of-schema-" + name;
    made.spec.matching_precedence = 100;
    made.spec.priority_level_configuration.name = level_name;
    Subject subject;
    subject.kind = "Group";
    subject.group.emplace().name = group;
    made.spec.rules[0].subjects = {subject};
    return made;
}

class FlowControlTest : public testing::Test {
protected:
    /// A request as the server serves one: it waits for its seats, works, and lasts until the test ends it.
    struct Request {
        User user;
        RequestInfo info;
        Event end;
        std::string state = "new";  // waits, served, over, 429, cancelled
        std::unique_ptr<FlowIds> ids;
    };

    void SetUp() override {
        // Five seats for each of two levels; the mandatory ones have the rest.
        flow_control = std::make_unique<FlowControl>(
            loop, work, FlowControl::Options{.seats = 15, .turn = 1ms, .count_objects = [this](auto&) { return objects; }});
        configure();
    }
    void TearDown() override {
        EXPECT_TRUE(sim::run(loop, scope.close()));
        flow_control.reset();
        loop.run_ready();
    }
    void configure() { flow_control->configure(levels, schemas); }

    Request& begin(const std::string& user, const std::string& group, const std::string& path = "/api/v1/namespaces/a/pods/p",
                   const char* method = "GET", const char* query = "") {
        Request& request = requests.emplace_back();
        request.user = {.name = user, .groups = {group}};
        request.info = parse_request_info(method, path, query);
        scope.spawn(serve(request));
        return request;
    }
    Task<> serve(Request& request) {
        FlowControl::Ticket ticket(*flow_control, request.user, request.info);
        auto seated = ticket.begin(FlowControl::Ticket::Way::Matched);
        request.ids = std::make_unique<FlowIds>(*ticket.ids());
        if (!seated) co_return refused(request, seated.error());
        if (!*seated) {
            request.state = "waits";
            if (auto waited = co_await ticket; !waited) co_return refused(request, waited.error());
        }
        request.state = "served";
        work.time += each;
        if (in_pieces) ticket.go_on_in_pieces();
        CO_TRY_VOID(co_await request.end.wait());
        ticket.finish();
        request.state = "over";
        co_return {};
    }
    static Result<void> refused(Request& request, const Error& error) {
        request.state = error.reason == Reason::TooManyRequests ? std::to_string(error.details->retry_after_seconds) + " s" : "cancelled";
        return {};
    }
    std::string states() {
        std::string all;
        for (const Request& request : requests) all += (all.empty() ? "" : " ") + request.state;
        return all;
    }
    /// After all requests have arrived, and before the next turn of those that wait.
    std::string states_of_first_turn() {
        std::string first;
        loop.post([&] { first = states(); });
        loop.run_ready();
        return first;
    }
    /// With a level "low" that has seats for lists of `objects`.
    void make_low_wide() {
        levels = {level("low", 50), level("high", 5)};
        flow_control = std::make_unique<FlowControl>(
            loop, work, FlowControl::Options{.seats = 600, .count_objects = [this](auto&) { return objects; }});
        configure();
    }
    std::string seats() { return metric(R"(apiserver_flowcontrol_current_executing_seats{priority_level="low",flow_schema="lows"})"); }
    std::string metric(const std::string& name) {
        std::string text;
        flow_control->append_metrics(text);
        const std::size_t at = text.find("\n" + name);
        if (at == text.npos) return "none";
        const std::size_t value = text.find("} ", at) + 2;
        return text.substr(value, text.find('\n', value) - value);
    }

    sim::SimLoop loop;
    WorkClock work;
    Duration each{};  ///< of the thread's time that a request takes
    std::size_t objects = 0;
    bool in_pieces = false;  ///< a list is not made at once
    std::vector<PriorityLevelConfiguration> levels{level("low", 5), level("high", 5)};
    std::vector<FlowSchema> schemas{schema("lows", "low", "lows"), schema("highs", "high", "highs")};
    std::unique_ptr<FlowControl> flow_control;
    std::deque<Request> requests;
    Scope scope{loop};
};

TEST_F(FlowControlTest, ServesUpToTheLimitThenQueuesThenRefuses) {
    for (int i = 0; i < 11; ++i) begin("a", "lows");
    loop.run_ready();
    EXPECT_EQ(states(), "served served served served served waits waits waits waits waits 1 s");
    EXPECT_EQ(metric(R"(apiserver_flowcontrol_current_inqueue_requests{priority_level="low",flow_schema="lows"})"), "5");
    EXPECT_EQ(metric(R"(apiserver_flowcontrol_rejected_requests_total{priority_level="low",flow_schema="lows",reason="queue-full"})"), "1");
    EXPECT_EQ(metric(R"(apiserver_current_inqueue_requests{request_kind="readOnly"})"), "5");
    EXPECT_EQ(requests.back().ids->flow_schema_uid, "uid-of-schema-lows") << "refusals tell why, too";
    EXPECT_EQ(requests.back().ids->priority_level_uid, "uid-of-level-low");
    requests[0].end.set();
    requests[1].end.set();
    loop.run_ready();
    EXPECT_EQ(requests[6].state, "served");
    EXPECT_EQ(requests[7].state, "waits");
    EXPECT_EQ(metric(R"(apiserver_flowcontrol_dispatched_requests_total{priority_level="low",flow_schema="lows"})"), "7");
}

TEST_F(FlowControlTest, LevelsDoNotShareSeats) {
    for (int i = 0; i < 10; ++i) begin("a", "lows");
    loop.run_ready();
    Request& other = begin("b", "highs");
    loop.run_ready();
    EXPECT_EQ(other.state, "served");
}

TEST_F(FlowControlTest, ExemptRequestsNeverWait) {
    for (int i = 0; i < 100; ++i) begin("root", "system:masters");
    loop.run_ready();
    for (const Request& request : requests) EXPECT_EQ(request.state, "served");
    EXPECT_EQ(metric(R"(apiserver_flowcontrol_current_executing_requests{priority_level="exempt",flow_schema="exempt"})"), "100");
}

TEST_F(FlowControlTest, ALevelWithoutQueuesRefusesAtOnce) {
    for (int i = 0; i < 7; ++i) begin("stranger", "none");  // catch-all
    loop.run_ready();
    EXPECT_EQ(states(), "served served served served served 1 s 1 s");
    EXPECT_EQ(
        metric(
            R"(apiserver_flowcontrol_rejected_requests_total{priority_level="catch-all",flow_schema="catch-all",reason="concurrency-limit"})"),
        "2");
}

TEST_F(FlowControlTest, RequestsThatHaveWaitedTooLongAreRefused) {
    for (int i = 0; i < 6; ++i) begin("a", "lows");
    loop.advance(10s);
    begin("a", "lows");
    loop.advance(4900ms);
    EXPECT_EQ(requests[5].state, "waits");
    loop.advance(200ms);
    EXPECT_EQ(requests[5].state, "1 s");
    EXPECT_EQ(requests[6].state, "waits") << "came later";
    EXPECT_EQ(metric(R"(apiserver_flowcontrol_rejected_requests_total{priority_level="low",flow_schema="lows",reason="time-out"})"), "1");
    loop.advance(10s);
    EXPECT_EQ(requests[6].state, "1 s");
}

TEST_F(FlowControlTest, ACancelledRequestLeavesItsQueue) {
    for (int i = 0; i < 5; ++i) begin("a", "lows");
    loop.run_ready();
    auto waiting = sim::run(
        loop,
        with_timeout(serve(requests.emplace_back(User{.name = "a", .groups = {"lows"}}, parse_request_info("GET", "/x", ""))), 1s, "x"));
    EXPECT_EQ(requests.back().state, "cancelled");
    EXPECT_EQ(metric(R"(apiserver_flowcontrol_current_inqueue_requests{priority_level="low",flow_schema="lows"})"), "0");
    EXPECT_EQ(metric(R"(apiserver_flowcontrol_rejected_requests_total{priority_level="low",flow_schema="lows",reason="cancelled"})"), "1");
    requests[0].end.set();
    loop.run_ready();
    EXPECT_EQ(requests.back().state, "cancelled");
}

TEST_F(FlowControlTest, TheQuietUserComesBeforeTheRestOfAFlood) {
    for (int i = 0; i < 10; ++i) begin("loud", "lows");
    loop.run_ready();
    Request& quiet = begin("quiet", "lows");
    loop.advance(10ms);
    for (int i = 0; i < 2; ++i) requests[static_cast<std::size_t>(i)].end.set();
    loop.run_ready();
    EXPECT_EQ(quiet.state, "served") << states();
}

TEST_F(FlowControlTest, AThreadThatIsBusyLetsEveryLevelWaitForItsTurn) {
    each = 500us;  // two fit a turn
    for (int i = 0; i < 4; ++i) begin("a", "lows");
    for (int i = 0; i < 2; ++i) begin("b", "highs");
    begin("root", "system:masters");
    EXPECT_EQ(states_of_first_turn(), "served served waits waits served waits served") << "b has its turn, but once";
    EXPECT_EQ(states(), "served served served served served served served") << "the next turns";
}

TEST_F(FlowControlTest, AUserWhoAsksOnceIsServedInHisTurnNextToAFlood) {
    each = 1ms;
    for (const char* user : {"loud", "loud", "loud", "quiet", "quiet", "loud"}) begin(user, "lows");
    EXPECT_EQ(states_of_first_turn(), "served waits waits served waits waits") << "of two requests, one waits";
}

TEST_F(FlowControlTest, ALevelThatHasHadMoreOfTheThreadWaitsForTheOther) {
    each = 1ms;
    for (int i = 0; i < 4; ++i) begin("loud", "lows");
    loop.run_ready();
    for (const char* group : {"highs", "highs", "lows"}) begin("quiet", group);
    EXPECT_EQ(states_of_first_turn(), "served served served served served waits waits");
}

TEST_F(FlowControlTest, AUserWhoAsksOnceWaitsForFreeSeats) {
    each = 1ms;
    for (int i = 0; i < 8; ++i) begin("loud", "lows");
    loop.run_ready();
    Request& quiet = begin("quiet", "lows");
    loop.run_ready();
    EXPECT_EQ(quiet.state, "waits");
    requests[0].end.set();
    loop.run_ready();
    EXPECT_EQ(quiet.state, "served");
}

TEST_F(FlowControlTest, OfOneFlowAListBeginsWhenTheOneBeforeIsMade) {
    make_low_wide();
    objects = 1000;
    in_pieces = true;
    Request& first = begin("a", "lows", "/api/v1/pods");
    loop.run_ready();
    EXPECT_EQ(seats(), "1") << "what is left takes turns with others";
    Request& second = begin("a", "lows", "/api/v1/pods");
    Request& other = begin("b", "lows", "/api/v1/pods");
    loop.run_ready();
    EXPECT_EQ(second.state, "waits");
    EXPECT_EQ(other.state, "served");
    first.end.set();
    loop.run_ready();
    EXPECT_EQ(second.state, "served");
    EXPECT_EQ(seats(), "2");
}

TEST_F(FlowControlTest, LevelsShareTheThreadByTheirSeats) {
    levels = {level("low", 5, 500), level("high", 15, 500)};
    flow_control = std::make_unique<FlowControl>(loop, work, FlowControl::Options{.seats = 1000});
    configure();
    each = 10ms;  // one fits a turn
    for (int i = 0; i < 100; ++i) {
        begin("a", "lows");
        begin("b", "highs");
    }
    std::map<std::string, int> served;
    EXPECT_TRUE(loop.run_until(
        [&] {
            served.clear();
            for (const Request& request : requests) {
                if (request.state == "served") ++served[request.user.name];
            }
            return served["a"] + served["b"] >= 84;
        },
        0s));
    EXPECT_GT(served["b"], 2 * served["a"]);
    EXPECT_LT(served["b"], 4 * served["a"]);
}

TEST_F(FlowControlTest, ListsTakeSeatsByWhatTheyRead) {
    make_low_wide();
    objects = 250;
    begin("a", "lows", "/api/v1/pods");
    loop.run_ready();
    EXPECT_EQ(seats(), "3");
    objects = 100'000;
    begin("a", "lows", "/api/v1/pods");
    loop.run_ready();
    EXPECT_EQ(seats(), "13") << "never more than ten";
    begin("a", "lows", "/api/v1/pods", "GET", "fieldSelector=metadata.name%3Dx");
    loop.run_ready();
    EXPECT_EQ(seats(), "14") << "one object";
    begin("a", "lows", "/api/v1/pods", "GET", "watch=true");
    loop.run_ready();
    EXPECT_EQ(seats(), "15");
    begin("a", "lows", "/api/v1/pods", "GET", "watch=true&sendInitialEvents=true");
    loop.run_ready();
    EXPECT_EQ(seats(), "25");
}

TEST_F(FlowControlTest, ABusyLevelBorrowsWhatOthersDoNotNeed) {
    for (auto& one : levels) {
        one.spec.limited->lendable_percent = 60;
        one.spec.limited->borrowing_limit_percent.reset();
    }
    configure();
    for (int i = 0; i < 10; ++i) begin("a", "lows");
    loop.advance(9s);
    const auto served = [&] { return std::ranges::count(requests, "served", &Request::state); };
    const auto before = served();
    EXPECT_LT(before, 7);
    loop.advance(2s);
    EXPECT_GT(served(), before) << states();
    EXPECT_EQ(metric(R"(apiserver_flowcontrol_nominal_limit_seats{priority_level="low"})"), "5");
    EXPECT_EQ(metric(R"(apiserver_flowcontrol_current_limit_seats{priority_level="high"})"), "2") << "what it may not lend";
}

TEST_F(FlowControlTest, ADeletedLevelServesWhatWaitsInIt) {
    for (int i = 0; i < 6; ++i) begin("a", "lows");
    loop.run_ready();
    levels.erase(levels.begin());
    configure();
    EXPECT_FALSE(flow_control->has_level("low"));
    EXPECT_TRUE(flow_control->dump_priority_levels().contains("low,")) << "until its requests have left";
    Request& other = begin("b", "lows");
    loop.run_ready();
    EXPECT_EQ(other.ids->flow_schema_uid, "") << "its schema dangles, so catch-all takes it";
    for (Request& request : requests) request.end.set();
    loop.run_ready();
    EXPECT_EQ(requests[5].state, "over");
    configure();
    EXPECT_FALSE(flow_control->dump_priority_levels().contains("low,"));
}

TEST_F(FlowControlTest, ANewLimitHoldsForThoseWhoWait) {
    for (int i = 0; i < 10; ++i) begin("a", "lows");
    loop.run_ready();
    EXPECT_EQ(requests[9].state, "waits");
    levels[0].spec.limited->nominal_concurrency_shares = 100;
    configure();
    loop.run_ready();
    EXPECT_EQ(requests[9].state, "served");
}

TEST_F(FlowControlTest, ALevelWithoutSeatsHoldsItsRequests) {
    levels[0].spec.limited->nominal_concurrency_shares = 0;
    configure();
    begin("a", "lows");
    loop.advance(14s);
    EXPECT_EQ(requests[0].state, "waits");
    loop.advance(2s);
    EXPECT_EQ(requests[0].state, "1 s");
}

TEST_F(FlowControlTest, ALevelThatIsNotValidIsNone) {
    levels[0].spec.limited->limit_response.queuing->hand_size = 100;
    configure();
    EXPECT_FALSE(flow_control->has_level("low"));
    EXPECT_TRUE(flow_control->has_level("high"));
    EXPECT_TRUE(flow_control->has_level("exempt")) << "is always there";
}

TEST_F(FlowControlTest, ShowsWhatWaitsAndWhatIsServed) {
    for (int i = 0; i < 6; ++i) begin("ann", "lows");
    loop.run_ready();
    const std::string all = flow_control->dump_priority_levels();
    EXPECT_TRUE(
        all.starts_with("PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, "
                        "RejectedRequests, TimedoutRequests, CancelledRequests\n"))
        << all;
    EXPECT_TRUE(all.contains("\nlow,               1,            false,  false,       1,               5,                 5,")) << all;
    const std::string listed = flow_control->dump_requests(true);
    EXPECT_TRUE(listed.contains("\nlow,               lows,           -1,         -1,                  ann,")) << listed;
    EXPECT_TRUE(listed.contains("0,                   ann,")) << listed;
    EXPECT_TRUE(listed.contains("ann,      get,    /api/v1/namespaces/a/pods/p, a,")) << listed;
    EXPECT_EQ(std::ranges::count(flow_control->dump_queues(), '\n'), 1 + 64 + 64);
}

TEST_F(FlowControlTest, GoneBeforeItsPostedTurnIsHarmless) {
    begin("a", "lows");
    loop.run_ready();
    requests[0].end.set();
    ASSERT_TRUE(sim::run(loop, scope.close()));
    flow_control.reset();
    loop.advance(1min);
}

}  // namespace
}  // namespace porthole::apiserver
