#include "runtime/turns.h"

#include <algorithm>
#include <utility>

#include "base/result.h"

namespace porthole {

std::list<Turns::Place*>& Turns::Waiting::next() {
    return *std::ranges::find_if(places, [](const auto& stage) { return !stage.empty(); });
}

bool Turns::Waiting::empty() const {
    return std::ranges::all_of(places, [](const auto& stage) { return stage.empty(); });
}

void Turns::serve_waiting() {
    std::erase_if(had_, [this](const auto& flow) { return flow.second <= served_to_; });
    while (!order_.empty() && turn_.has_time()) serve(order_.begin()->second);
    if (!order_.empty()) turn_.call_next();
}

void Turns::serve(std::uint64_t flow) {
    const MonotonicTime began = clock_.now();
    Waiting& first = waiting_.find(flow)->second;
    const Duration before = served_to_ = first.tag.first;
    Place& next = *first.next().front();
    next.leave();
    served_ = flow;
    next.complete({});  // does the work
    served_.reset();
    const Duration had = had_[flow] = before + (clock_.now() - began);
    const auto found = waiting_.find(flow);
    if (found == waiting_.end()) return;
    order_.erase(found->second.tag);
    enter(flow, found->second, had);
}

void Turns::enter(std::uint64_t flow, Waiting& waiting, Duration had) {
    waiting.tag = {had, ++entered_};
    order_.emplace(waiting.tag, flow);
}

bool Turns::goes_on(std::uint64_t flow, Stage stage) {
    if (stage != Stage::New || served_ != flow) return false;
    served_.reset();
    return true;
}

bool Turns::Place::begin(std::uint64_t flow, Stage stage) {
    if (turns_.free() || turns_.goes_on(flow, stage)) return true;
    enter(flow, stage);
    return false;
}

void Turns::Place::move(std::uint64_t flow, Stage stage) {
    if (!waits_) return;
    leave();
    enter(flow, stage);
}

void Turns::Place::enter(std::uint64_t flow, Stage stage) {
    flow_ = flow;
    stage_ = stage;
    Waiting& waiting = turns_.waiting_[flow];
    if (waiting.empty()) {
        const auto had = turns_.had_.find(flow);
        turns_.enter(flow, waiting, had == turns_.had_.end() ? turns_.served_to_ : std::max(had->second, turns_.served_to_));
    }
    auto& places = waiting.places[static_cast<std::size_t>(stage)];
    // Of what has begun, the same goes on, so that it ends.
    at_ = places.insert(stage == Stage::Begun ? places.begin() : places.end(), this);
    waits_ = true;
    turns_.turn_.call_next();
}

void Turns::Place::cancel() {
    if (!waits_) return;
    leave();
    complete_later(cancelled_error());
}

void Turns::Place::leave() {
    if (!std::exchange(waits_, false)) return;
    const auto found = turns_.waiting_.find(flow_);
    found->second.places[static_cast<std::size_t>(stage_)].erase(at_);
    if (!found->second.empty()) return;
    turns_.order_.erase(found->second.tag);
    turns_.waiting_.erase(found);
}

bool LongWork::turn_is_over() {
    if (!turns_) return false;
    const MonotonicTime now = turns_->clock_.now();
    if (now - began_ < Piece) return false;
    if (!turns_->free()) return true;
    began_ = now;
    return false;
}

Task<> LongWork::next_turn(Turns::Stage stage) {
    turns_->served_.reset();  // the piece was its turn
    Turns::Place place(*turns_);
    if (!place.begin(flow_, stage)) CO_TRY_VOID(co_await place);
    began_ = turns_->clock_.now();
    co_return {};
}

}  // namespace porthole
