// What FlowControl tells: metrics, and the pages below /debug/api_priority_and_fairness.
#include <algorithm>
#include <cstdio>
#include <map>

#include "apiserver/flow_control/flow_control.h"
#include "apiserver/flow_control/flow_state.h"
#include "base/metrics_text.h"
#include "base/time/time.h"

namespace porthole::apiserver {
namespace {

std::string seat_seconds(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.8fss", value);
    return text;
}

template <std::size_t N>
void add_histogram(const MetricFamily& family, const std::string& labels, const BucketCounts<N>& buckets,
                   const std::array<double, N>& bounds) {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i <= N; ++i) {
        count += buckets.counts[i];
        family.add_part("_bucket", labels + ',' + metric_label("le", i < N ? metric_number(bounds[i]) : "+Inf"), std::to_string(count));
    }
    family.add_part("_sum", labels, metric_number(buckets.sum));
    family.add_part("_count", labels, std::to_string(count));
}

/// Rows of cells in columns, each but the last followed by a comma.
class Columns {
public:
    explicit Columns(std::vector<std::string> heads) { add(std::move(heads)); }
    void add(std::vector<std::string> cells) {
        for (std::size_t i = 0; i + 1 < cells.size(); ++i) {
            cells[i] += ',';
            if (widths_.size() <= i) widths_.push_back(8);
            widths_[i] = std::max(widths_[i], cells[i].size() + 1);
        }
        rows_.push_back(std::move(cells));
    }
    std::string text() const {
        std::string out;
        for (const auto& row : rows_) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                out += row[i];
                if (i + 1 < row.size()) out.append(widths_[i] - row[i].size(), ' ');
            }
            out += '\n';
        }
        return out;
    }

private:
    std::vector<std::vector<std::string>> rows_;
    std::vector<std::size_t> widths_;
};

const char* text_of(bool value) { return value ? "true" : "false"; }

}  // namespace

void FlowControl::append_metrics(std::string& out) const {
    const auto of_levels = [&](std::string_view name, std::string_view help, auto value) {
        const MetricFamily family(out, "apiserver_flowcontrol_" + std::string(name), "gauge", help);
        for (const auto& [level_name, level] : state_->levels)
            family.add(metric_label("priority_level", level_name), static_cast<double>(value(*level)));
    };
    const auto of_flows = [&](std::string_view name, std::string_view type, std::string_view help, auto add) {
        const MetricFamily family(out, "apiserver_flowcontrol_" + std::string(name), type, help);
        for (const auto& [level_name, level] : state_->levels) {
            for (const auto& [schema, flows] : level->flows)
                add(family, metric_label("priority_level", level_name) + ',' + metric_label("flow_schema", schema), *flows);
        }
    };
    of_levels("nominal_limit_seats", "Seats that a level is configured to have.", [](const Level& level) { return level.limits.nominal; });
    of_levels("lower_limit_seats", "Seats that a level does not lend.", [](const Level& level) { return level.limits.lower; });
    of_levels("upper_limit_seats", "Seats that a level may have with what it borrows.",
              [](const Level& level) { return level.limits.upper; });
    of_levels("current_limit_seats", "Seats that a level has now.", [](const Level& level) { return level.limits.current; });
    of_levels("demand_seats_high_watermark", "The most seats that a level could use in the last period of adjustment.",
              [](const Level& level) { return level.demand.highest(); });
    of_levels("demand_seats_smoothed", "The demand of a level, smoothed over periods.",
              [](const Level& level) { return level.demand.smoothed(); });

    of_flows("dispatched_requests_total", "counter", "Requests that were served.",
             [](const MetricFamily& family, const std::string& labels, const Flows& flows) { family.add(labels, flows.dispatched); });
    of_flows("rejected_requests_total", "counter", "Requests that were refused.",
             [](const MetricFamily& family, const std::string& labels, const Flows& flows) {
                 for (std::size_t i = 0; i < RefusalNames.size(); ++i) {
                     if (flows.refused[i] > 0) family.add(labels + ',' + metric_label("reason", RefusalNames[i]), flows.refused[i]);
                 }
             });
    of_flows("current_inqueue_requests", "gauge", "Requests that wait.",
             [](const MetricFamily& family, const std::string& labels, const Flows& flows) { family.add(labels, flows.waiting); });
    of_flows("current_executing_requests", "gauge", "Requests that are being served; watches until they have begun.",
             [](const MetricFamily& family, const std::string& labels, const Flows& flows) { family.add(labels, flows.executing); });
    of_flows("current_executing_seats", "gauge", "Seats of the requests that are being served.",
             [](const MetricFamily& family, const std::string& labels, const Flows& flows) { family.add(labels, flows.seats); });
    of_flows("request_wait_duration_seconds", "histogram", "Time that requests waited.",
             [](const MetricFamily& family, const std::string& labels, const Flows& flows) {
                 if (flows.level.exempt) return;
                 add_histogram(family, labels + R"(,execute="false")", flows.wait_of_refused, WaitBounds);
                 add_histogram(family, labels + R"(,execute="true")", flows.wait_of_served, WaitBounds);
             });
    of_flows("request_queue_length_after_enqueue", "histogram", "Length of the queue that a request has joined.",
             [](const MetricFamily& family, const std::string& labels, const Flows& flows) {
                 if (!flows.level.exempt) add_histogram(family, labels, flows.queue_lengths, QueueLengthBounds);
             });
    const MetricFamily waiting(out, "apiserver_current_inqueue_requests", "gauge", "Requests that wait to be served.");
    waiting.add(metric_label("request_kind", "mutating"), state_->waiting_by_kind[0]);
    waiting.add(metric_label("request_kind", "readOnly"), state_->waiting_by_kind[1]);
}

std::string FlowControl::dump_priority_levels() const {
    Columns columns({"PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests",
                     "DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests"});
    for (const auto& [name, level] : state_->levels) {
        const auto active = std::ranges::count_if(level->queues.queues(), [](const FairQueues::Queue& queue) { return queue.waiting > 0; });
        std::uint64_t dispatched = 0, rejected = 0, timed_out = 0, cancelled = 0;
        for (const auto& [schema, flows] : level->flows) {
            dispatched += flows->dispatched;
            for (const std::uint64_t count : flows->refused) rejected += count;
            timed_out += flows->refused[static_cast<std::size_t>(Refusal::TimeOut)];
            cancelled += flows->refused[static_cast<std::size_t>(Refusal::Cancelled)];
        }
        columns.add({name, std::to_string(active), text_of(level->queues.idle()), text_of(!level->desired),
                     std::to_string(level->queues.waiting()), std::to_string(level->queues.executing()), std::to_string(dispatched),
                     std::to_string(rejected), std::to_string(timed_out), std::to_string(cancelled)});
    }
    return columns.text();
}

std::string FlowControl::dump_queues() const {
    Columns columns({"PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR", "InitialSeatsSum",
                     "MaxSeatsSum", "TotalWorkSum"});
    for (const auto& [name, level] : state_->levels) {
        std::size_t index = 0;
        for (const FairQueues::Queue& queue : level->queues.queues()) {
            columns.add({name, std::to_string(index++), std::to_string(queue.waiting), std::to_string(queue.executing),
                         std::to_string(queue.seats_in_use), seat_seconds(queue.next_start), std::to_string(queue.seats_waiting),
                         std::to_string(queue.seats_waiting), seat_seconds(queue.work_waiting)});
        }
    }
    return columns.text();
}

std::string FlowControl::dump_requests(bool details) const {
    std::vector<std::string> heads{"PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher",
                                   "ArriveTime",        "InitialSeats",   "FinalSeats", "AdditionalLatency",   "StartTime"};
    const std::vector<std::string> more{"UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"};
    if (details) heads.insert(heads.end(), more.begin(), more.end());
    Columns columns(std::move(heads));
    const SystemTime wall = state_->loop.wall_now();
    const MonotonicTime now = state_->loop.now();
    const auto time = [&](MonotonicTime when) { return MicroTimestamp(wall - (now - when)).to_string(); };
    for (const auto& [name, level] : state_->levels) {
        std::map<const FairQueues::Queue*, std::pair<std::size_t, std::size_t>> places;  // of a queue, and of its next request
        for (std::size_t i = 0; i < level->queues.queues().size(); ++i) places[&level->queues.queues()[i]] = {i, 0};
        for (const Ticket* ticket = level->tickets.first(); ticket; ticket = Ticket::List<&Ticket::of_level_>::next(*ticket)) {
            const bool waits = ticket->stage_ == Ticket::Stage::Waiting;
            std::string queue = "-1", index = "-1";
            if (waits) {
                auto& place = places[ticket->queue];
                queue = std::to_string(place.first);
                index = std::to_string(place.second++);
            }
            const RequestInfo& info = ticket->info_;
            std::vector<std::string> row{name,
                                         ticket->flows_->schema,
                                         queue,
                                         index,
                                         std::string(state_->distinguisher_of(*ticket)),
                                         time(ticket->arrived),
                                         std::to_string(ticket->work.seats),
                                         "0",
                                         "0s",
                                         waits ? "" : time(ticket->started)};
            if (details) {
                const std::string version = info.group.empty() ? info.version : info.group + '/' + info.version;
                const std::vector<std::string> request{ticket->user_.name, info.verb, info.path,     info.namespace_,
                                                       info.name,          version,   info.resource, info.subresource};
                row.insert(row.end(), request.begin(), request.end());
            }
            columns.add(std::move(row));
        }
    }
    return columns.text();
}

}  // namespace porthole::apiserver
