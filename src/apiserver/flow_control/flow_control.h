#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/flowcontrol_v1.h"
#include "apiserver/flow_control/fair_queues.h"
#include "apiserver/request/request_info.h"
#include "apiserver/request/user.h"
#include "runtime/task.h"

namespace porthole::apiserver {

/// How a request was classified, for the headers of its answer.
struct FlowIds {
    std::string flow_schema_uid, priority_level_uid;
};

/// API priority and fairness (KEP-1040): decides for every request whether it is served now, waits or is refused.
///
/// A request occupies seats of the priority level that its FlowSchema names. It waits if the level's seats are occupied. Differs from
/// Kubernetes: it also waits if the server's thread has served requests for `turn` without returning to its connections; then the requests
/// of every level wait for the next turn, which serves the levels in proportion to their seats. See docs/design/priority_and_fairness.md.
///
/// Lives on the server's loop and outlives the requests. It starts with the mandatory objects only.
class FlowControl {
public:
    struct Options {
        std::uint32_t seats = 600;                         ///< of all levels in total
        Duration wait_limit = std::chrono::seconds(15);    ///< of a request in a queue; then it is refused
        Duration turn = std::chrono::microseconds(250);    ///< of the server's thread
        Duration adjust_every = std::chrono::seconds(10);  ///< how often levels adjust what they lend to each other
        std::uint64_t seed = 0;                            ///< of the hands that flows are dealt
        /// How many objects a list reads; empty: few.
        std::function<std::size_t(const RequestInfo&)> count_objects{};
    };
    using FlowSchema = api::flowcontrol::v1::FlowSchema;
    using PriorityLevel = api::flowcontrol::v1::PriorityLevelConfiguration;

    /// `clock` measures the turns of the thread; it may be the loop.
    FlowControl(EventLoop& loop, const Clock& clock, Options options);
    ~FlowControl();
    FlowControl(const FlowControl&) = delete;

    /// Replaces the objects; missing mandatory ones are added. Waiting requests keep their level; a deleted level stays until they have
    /// left. Invalid levels are ignored.
    void configure(const std::vector<PriorityLevel>& levels, std::vector<FlowSchema> schemas);
    /// Whether a FlowSchema can refer to it.
    bool has_level(std::string_view name) const;

    class Ticket;

    /// apiserver_flowcontrol_*, in Prometheus' text form.
    void append_metrics(std::string& out) const;
    // The content of /debug/api_priority_and_fairness, in columns.
    std::string dump_priority_levels() const;
    std::string dump_queues() const;
    std::string dump_requests(bool details) const;

private:
    struct Level;
    struct Flows;
    struct State;
    std::unique_ptr<State> state_;
};

/// The part of FlowControl that one request takes, from begin() until finish() or its end. Lives in the request's task; `user` and `info`
/// outlive it.
///
///     CO_TRY(const bool seated, ticket.begin(...));
///     if (!seated) CO_TRY_VOID(co_await ticket);     // Errors: TooManyRequests when it has waited too long; Cancelled
class FlowControl::Ticket final : public Operation<void>, private FairQueues::Entry {
public:
    enum class Way { Matched, Exempt };  ///< Exempt: from this process, whatever its user

    Ticket(FlowControl& control, const User& user, const RequestInfo& info) : state_(*control.state_), user_(user), info_(info) {}
    ~Ticket();

    /// True: the request has its seats. False: it waits; await the ticket. Error: TooManyRequests. Call once.
    Result<bool> begin(Way way);
    /// What is left of a list is made in pieces (LongWork): the request keeps one seat, and its flow's next list begins only after its end.
    void go_on_in_pieces();
    /// Returns the seats, because the server's work for the request is done. May be repeated.
    void finish();

    /// The FlowSchema and priority level of the request. Requires: begin().
    const std::shared_ptr<const FlowIds>& ids() const;

private:
    friend FlowControl;
    friend State;
    /// In a list of tickets.
    struct Links {
        Ticket *previous = nullptr, *next = nullptr;
    };
    template <Links Ticket::* Member>
    class List;
    enum class Stage : std::uint8_t { New, Waiting, Served, Over };

    void start() override {}
    void cancel() override;

    State& state_;
    const User& user_;
    const RequestInfo& info_;
    Flows* flows_ = nullptr;
    Links by_arrival_;  ///< among waiting tickets of all levels
    Links of_level_;    ///< among waiting or served tickets of the level
    std::uint64_t watched_ = 0;
    Stage stage_ = Stage::New;
};

}  // namespace porthole::apiserver
