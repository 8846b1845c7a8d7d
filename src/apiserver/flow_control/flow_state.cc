#include "apiserver/flow_control/flow_state.h"

#include <algorithm>
#include <cmath>

#include "apiserver/flow_control/default_configuration.h"
#include "apiserver/flow_control/shuffle_sharding.h"
#include "apiserver/request/status.h"
#include "base/hash.h"

namespace porthole::apiserver {
namespace {

using namespace api::flowcontrol::v1;

// Kubernetes' estimates of the work of a request.
constexpr std::uint32_t MostSeats = 10;
constexpr double ObjectsPerSeat = 100;
constexpr double WatchersPerSeat = 10;
constexpr double SecondsPerEvent = 0.005;
constexpr double WidestShare = 0.15;  ///< of a level's seats that one request may take

bool is_consistent(const PriorityLevelConfiguration& object) {
    const auto& spec = object.spec;
    const bool exempt = spec.type == PriorityLevelEnablement::Exempt;
    if (exempt != (object.metadata.name == ExemptName) || exempt == spec.limited.has_value()) return false;
    if (exempt) return true;
    const LimitResponse& response = spec.limited->limit_response;
    if ((response.type == LimitResponseType::Queue) != response.queuing.has_value()) return false;
    if (!response.queuing) return true;
    const QueuingConfiguration& queuing = *response.queuing;
    return queuing.queues > 0 && queuing.hand_size > 0 && queuing.hand_size <= queuing.queues && queuing.queue_length_limit > 0 &&
           required_entropy_bits(static_cast<std::uint32_t>(queuing.queues), static_cast<std::uint32_t>(queuing.hand_size)) <= MaxHashBits;
}

FairQueues::Configuration queues_of(const PriorityLevelConfiguration& object) {
    if (!object.spec.limited || !object.spec.limited->limit_response.queuing) return {};
    const QueuingConfiguration& queuing = *object.spec.limited->limit_response.queuing;
    return {.queues = static_cast<std::uint32_t>(queuing.queues),
            .hand_size = static_cast<std::uint32_t>(queuing.hand_size),
            .queue_length = static_cast<std::uint32_t>(queuing.queue_length_limit)};
}

template <class T>
void add_missing(std::vector<T>& objects, std::vector<T> defaults) {
    for (T& wanted : defaults) {
        const std::string& name = wanted.metadata.name;
        const bool there = std::ranges::any_of(objects, [&](const T& object) { return object.metadata.name == name; });
        if (is_mandatory_name(name) && !there) objects.push_back(std::move(wanted));
    }
}

std::uint64_t hash_of(std::string_view first, std::string_view second, std::uint64_t seed) {
    std::uint64_t hash = fnv1a_64(second, fnv1a_64(std::string_view("\0", 1), fnv1a_64(first, seed)));
    // The hash of the last bytes has not reached the upper bits yet (the finalizer of MurmurHash3).
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdu;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53u;
    return hash ^ (hash >> 33);
}

std::uint64_t watch_key(const RequestInfo& info, std::string_view namespace_) {
    return hash_of(info.resource, namespace_, fnv1a_64(info.group));
}

bool is_write(const RequestInfo& info) {
    return info.verb == "create" || info.verb == "update" || info.verb == "patch" || info.verb == "delete";
}

std::size_t kind_of(const RequestInfo& info) {
    return info.verb == "get" || info.verb == "list" || info.verb == "watch" || info.verb == "head" ? 1 : 0;
}

double to_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

FlowControl::FlowControl(EventLoop& loop, const Clock& clock, Options options)
    : state_(std::make_unique<State>(loop, clock, std::move(options))) {
    configure({}, {});
}

FlowControl::~FlowControl() = default;

void FlowControl::configure(const std::vector<PriorityLevel>& levels, std::vector<FlowSchema> schemas) {
    state_->configure(levels, std::move(schemas));
}

bool FlowControl::has_level(std::string_view name) const {
    const auto found = state_->levels.find(name);
    return found != state_->levels.end() && found->second->desired;
}

FlowControl::State::~State() {
    if (wait_timer) loop.cancel_timer(*wait_timer);
    if (adjust_timer) loop.cancel_timer(*adjust_timer);
}

// --- Configuration ---

FlowControl::Flows& FlowControl::Level::flows_of(const std::string& schema, const std::string& schema_uid) {
    auto& found = flows[schema];
    if (!found) found = std::unique_ptr<Flows>(new Flows{.level = *this, .schema = schema});
    found->ids = std::make_shared<const FlowIds>(FlowIds{schema_uid, uid});
    return *found;
}

void FlowControl::State::configure(const std::vector<PriorityLevel>& given, std::vector<FlowSchema> schemas_given) {
    std::vector<PriorityLevel> objects;
    std::ranges::copy_if(given, std::back_inserter(objects), is_consistent);
    add_missing(objects, default_priority_levels());
    for (auto& [name, level] : levels) level->desired = false;
    for (const PriorityLevel& object : objects) configure_level(object);

    std::erase_if(schemas_given, [&](const FlowSchema& schema) {
        const auto found = levels.find(schema.spec.priority_level_configuration.name);
        return found == levels.end() || !found->second->desired;
    });
    add_missing(schemas_given, default_flow_schemas());
    schemas = std::make_unique<FlowSchemas>(std::move(schemas_given));
    flows.clear();
    for (const FlowSchema& schema : schemas->ordered()) {
        Level& level = *levels.find(schema.spec.priority_level_configuration.name)->second;
        flows.push_back(&level.flows_of(schema.metadata.name, schema.metadata.uid));
        if (schema.metadata.name == ExemptName) exempt_flows = flows.back();
    }
    drop_unused_levels();
    adjust();
}

void FlowControl::State::configure_level(const PriorityLevel& object) {
    auto& level = levels[object.metadata.name];
    if (!level) level = std::make_unique<Level>();
    level->name = object.metadata.name;
    level->uid = object.metadata.uid;
    level->desired = true;
    level->exempt = object.spec.type == PriorityLevelEnablement::Exempt;
    level->borrowing_limit_percent = -1;
    if (object.spec.limited) {
        level->shares = object.spec.limited->nominal_concurrency_shares.value_or(0);
        level->lendable_percent = object.spec.limited->lendable_percent.value_or(0);
        level->borrowing_limit_percent = object.spec.limited->borrowing_limit_percent.value_or(-1);
    } else if (object.spec.exempt) {
        level->shares = object.spec.exempt->nominal_concurrency_shares.value_or(0);
        level->lendable_percent = object.spec.exempt->lendable_percent.value_or(0);
    }
    level->queues.configure(queues_of(object));
}

void FlowControl::State::drop_unused_levels() {
    std::erase_if(levels, [](const auto& entry) { return !entry.second->desired && entry.second->queues.idle(); });
    double sum = 0;
    for (const auto& [name, level] : levels) sum += level->shares;
    for (const auto& [name, level] : levels) {
        level->limits = seat_limits(options.seats, level->shares, sum, level->lendable_percent, level->borrowing_limit_percent);
        const std::uint32_t nominal = level->limits.nominal, hand_size = level->queues.configuration().hand_size;
        const auto widest = std::min<std::uint32_t>(static_cast<std::uint32_t>(std::ceil(nominal * WidestShare)), nominal / hand_size);
        level->widest = level->queues.configuration().queues > 0 ? std::clamp(widest, 1u, MostSeats) : MostSeats;
    }
}

void FlowControl::State::adjust() {
    const MonotonicTime now = loop.now();
    double sum = 0;
    std::vector<Level*> limited;
    std::vector<SeatClaim> claims;
    for (const auto& [name, level] : levels) {
        level->demand.end_period(now);
        sum += level->limits.nominal;
        // A level keeps what it has used of its own; the rest it lends.
        const std::uint32_t least = std::max(level->limits.lower, std::min(level->limits.nominal, level->demand.highest()));
        if (level->exempt) {
            level->limits.current = least;
            sum -= least;
            continue;
        }
        limited.push_back(level.get());
        claims.push_back({.target = std::max<double>(least, level->demand.smoothed()),
                          .lower = static_cast<double>(least),
                          .upper = static_cast<double>(level->limits.upper)});
    }
    const std::vector<double> given = divide_seats(sum, claims);
    bool may_start = false;
    for (std::size_t i = 0; i < limited.size(); ++i) {
        // One seat at least, so that requests do not wait for the next adjustment; a level that may have none holds its requests.
        const std::uint32_t least = limited[i]->limits.upper > 0 ? 1 : 0;
        limited[i]->limits.current = std::max(least, static_cast<std::uint32_t>(std::lround(given[i])));
        limited[i]->queues.set_limit(limited[i]->limits.current);
        may_start = may_start || limited[i]->queues.can_start();
    }
    if (may_start) turn.call_next();
}

void FlowControl::State::arm_adjustment() {
    if (adjust_timer) return;
    adjust_timer = loop.call_after(options.adjust_every, [this] {
        adjust_timer.reset();  // armed again by the next request: a server at rest has nothing to lend
        drop_unused_levels();
        adjust();
    });
}

// --- One request ---

std::uint32_t FlowControl::State::watchers_of(const RequestInfo& info) const {
    const auto count = [&](std::string_view namespace_) {
        const auto found = watchers.find(watch_key(info, namespace_));
        return found == watchers.end() ? 0 : found->second;
    };
    return count("") + (info.namespace_.empty() ? 0 : count(info.namespace_));
}

std::string_view FlowControl::State::distinguisher_of(const Ticket& ticket) const {
    const auto found = std::ranges::find(flows, ticket.flows_);
    if (ticket.flows_->level.queues.configuration().queues == 0 || found == flows.end()) return "";
    return flow_distinguisher(schemas->ordered()[static_cast<std::size_t>(found - flows.begin())], ticket.user_, ticket.info_);
}

Work FlowControl::State::estimate(const Ticket& ticket) const {
    const RequestInfo& info = ticket.info_;
    if (!info.is_resource) return {};
    const bool lists = info.verb == "list" || (info.verb == "watch" && info.flag("sendInitialEvents"));
    if (lists && info.name.empty()) {
        if (!options.count_objects) return {.in_pieces = true};
        const double objects = static_cast<double>(options.count_objects(info));
        const auto seats = static_cast<std::uint32_t>(std::ceil(std::min(objects, MostSeats * ObjectsPerSeat) / ObjectsPerSeat));
        return {.seats = std::clamp(seats, 1u, ticket.flows_->level.widest), .in_pieces = true};
    }
    if (watchers.empty() || !is_write(info)) return {};
    const std::uint32_t told = watchers_of(info);
    return {.later = told < WatchersPerSeat ? 0 : std::ceil(told / WatchersPerSeat) * SecondsPerEvent};
}

Result<bool> FlowControl::State::begin(Ticket& ticket, bool exempt) {
    const MonotonicTime now = loop.now();
    arm_adjustment();
    const std::size_t place = exempt ? 0 : schemas->find(ticket.user_, ticket.info_);
    ticket.flows_ = exempt ? exempt_flows : flows[place];
    Level& level = ticket.flows_->level;
    if (level.exempt) {
        level.queues.start_exempt(ticket, now);
        level.tickets.add(ticket);
        serve(ticket, now);
        return true;
    }
    ticket.work = estimate(ticket);
    if (level.queues.configuration().queues > 0) return begin_queued(ticket, schemas->ordered()[place], now);
    if (!level.queues.start_unqueued(ticket, now)) return refuse(*ticket.flows_, Refusal::ConcurrencyLimit);
    level.tickets.add(ticket);
    serve(ticket, now);
    return true;
}

Result<bool> FlowControl::State::begin_queued(Ticket& ticket, const FlowSchema& schema, MonotonicTime now) {
    Flows& of = *ticket.flows_;
    Level& level = of.level;
    ticket.flow = hash_of(of.schema, flow_distinguisher(schema, ticket.user_, ticket.info_), options.seed);
    const bool others_wait = level.queues.waiting() > 0;
    if (!level.queues.enqueue(ticket, now)) {
        of.wait_of_refused.observe(0, WaitBounds);
        return refuse(of, Refusal::QueueFull);
    }
    of.queue_lengths.observe(ticket.queue->waiting, QueueLengthBounds);
    level.tickets.add(ticket);
    if (!others_wait) level.processor = std::max(level.processor, processor_now);
    if (may_start_at_once(ticket, others_wait)) {
        level.queues.start_next(now);
        serve(ticket, now);
        return true;
    }
    let_wait(ticket);
    return false;
}

bool FlowControl::State::may_start_at_once(const Ticket& ticket, bool others_waited) {
    const Level& level = ticket.flows_->level;
    const bool has_time = turn.has_time();
    if (level.queues.next() != &ticket) return false;
    if (has_time && !others_waited) return true;
    // It has waited for its user's turn already (Arrivals), and the next turn would begin with it. A user who sends more requests than
    // one at a time waits, so that levels and users share the thread by time.
    const bool alone = ticket.queue->waiting == 1 && ticket.queue->executing == 0;
    return alone && std::ranges::none_of(levels, [&](const auto& other) {
               return other.second->queues.can_start() && other.second->processor < level.processor;
           });
}

void FlowControl::State::serve(Ticket& ticket, MonotonicTime now) {
    Flows& of = *ticket.flows_;
    ticket.stage_ = Ticket::Stage::Served;
    ++of.dispatched;
    ++of.executing;
    of.seats += ticket.work.seats;
    if (!of.level.exempt) of.wait_of_served.observe(to_seconds(now - ticket.arrived), WaitBounds);
    of.level.note_demand(now);
    if (ticket.info_.verb != "watch" || !ticket.info_.name.empty() || ticket.info_.has_parameter("fieldSelector")) return;
    ticket.watched_ = watch_key(ticket.info_, ticket.info_.namespace_);
    ++watchers[ticket.watched_];
}

void FlowControl::State::let_wait(Ticket& ticket) {
    Level& level = ticket.flows_->level;
    ticket.stage_ = Ticket::Stage::Waiting;
    ++ticket.flows_->waiting;
    ++waiting_by_kind[kind_of(ticket.info_)];
    waiting.add(ticket);
    level.note_demand(ticket.arrived);
    arm_wait_timer();
    if (level.queues.can_start()) turn.call_next();
}

void FlowControl::State::go_on_in_pieces(Ticket& ticket) {
    Flows& of = *ticket.flows_;
    const MonotonicTime now = loop.now();
    of.seats -= ticket.work.seats - 1;
    of.level.queues.go_on_in_pieces(ticket, now);
    of.level.note_demand(now);
    if (of.level.queues.can_start()) turn.call_next();
}

void FlowControl::State::finish(Ticket& ticket) {
    Flows& of = *ticket.flows_;
    const MonotonicTime now = loop.now();
    ticket.stage_ = Ticket::Stage::Over;
    --of.executing;
    of.seats -= ticket.work.seats;
    of.level.tickets.remove(ticket);
    of.level.queues.finish(ticket, now);
    of.level.note_demand(now);
    if (of.level.queues.can_start()) turn.call_next();
}

/// One that waits leaves without having been served.
void FlowControl::State::withdraw(Ticket& ticket, Refusal why) {
    Flows& of = *ticket.flows_;
    const MonotonicTime now = loop.now();
    ticket.stage_ = Ticket::Stage::Over;
    waiting.remove(ticket);
    --waiting_by_kind[kind_of(ticket.info_)];
    --of.waiting;
    ++of.refused[static_cast<std::size_t>(why)];
    of.wait_of_refused.observe(to_seconds(now - ticket.arrived), WaitBounds);
    of.level.tickets.remove(ticket);
    of.level.queues.remove(ticket, now);
    of.level.note_demand(now);
    if (of.level.queues.can_start()) turn.call_next();  // it may have been a wide one that others waited behind
}

Error FlowControl::State::refuse(Flows& of, Refusal why) {
    ++of.refused[static_cast<std::size_t>(why)];
    return too_many_requests();
}

// --- Turns of the thread ---

void FlowControl::State::serve_waiting() {
    ++turn_number;
    MonotonicTime now = clock.now();
    const MonotonicTime end = now + options.turn;
    while (Ticket* const ticket = next_to_serve(loop.now())) {
        turn.has_time();  // begins it
        Level& level = ticket->flows_->level;
        processor_now = level.processor;
        ticket->complete({});  // runs its handler, after which the ticket may be gone
        const MonotonicTime then = std::exchange(now, clock.now());
        level.processor += to_seconds(now - then) / std::max(level.queues.limit(), 1u);
        if (now >= end) return turn.call_next();
    }
}

FlowControl::Ticket* FlowControl::State::next_to_serve(MonotonicTime now) {
    for (;;) {
        Level* best = nullptr;
        for (const auto& [name, level] : levels) {
            if (!level->queues.can_start() || level->blocked_in_turn == turn_number) continue;
            if (!best || level->processor < best->processor) best = level.get();
        }
        if (!best) return nullptr;
        auto* const ticket = static_cast<Ticket*>(best->queues.start_next(now));
        if (!ticket) {
            best->blocked_in_turn = turn_number;  // the next one is too wide for the seats that are free
            continue;
        }
        waiting.remove(*ticket);
        --waiting_by_kind[kind_of(ticket->info_)];
        --ticket->flows_->waiting;
        serve(*ticket, now);
        return ticket;
    }
}

void FlowControl::State::arm_wait_timer() {
    if (wait_timer || !waiting.first()) return;
    wait_timer = loop.call_at(waiting.first()->arrived + options.wait_limit, [this] {
        wait_timer.reset();
        refuse_those_that_waited_too_long();
        arm_wait_timer();
    });
}

void FlowControl::State::refuse_those_that_waited_too_long() {
    const MonotonicTime arrived_before = loop.now() - options.wait_limit;
    for (Ticket* first = waiting.first(); first && first->arrived <= arrived_before; first = waiting.first()) {
        withdraw(*first, Refusal::TimeOut);
        first->complete(too_many_requests());
    }
}

// --- Ticket ---

Result<bool> FlowControl::Ticket::begin(Way way) { return state_.begin(*this, way == Way::Exempt); }

void FlowControl::Ticket::finish() {
    if (stage_ == Stage::Served) state_.finish(*this);
}

void FlowControl::Ticket::go_on_in_pieces() {
    if (stage_ == Stage::Served && work.in_pieces) state_.go_on_in_pieces(*this);
}

void FlowControl::Ticket::cancel() {
    if (stage_ != Stage::Waiting) return;
    state_.withdraw(*this, Refusal::Cancelled);
    complete_later(cancelled_error());
}

FlowControl::Ticket::~Ticket() {
    if (stage_ == Stage::Waiting) state_.withdraw(*this, Refusal::Cancelled);
    finish();
    if (watched_ == 0) return;
    const auto found = state_.watchers.find(watched_);
    if (--found->second == 0) state_.watchers.erase(found);
}

const std::shared_ptr<const FlowIds>& FlowControl::Ticket::ids() const { return flows_->ids; }

}  // namespace porthole::apiserver
