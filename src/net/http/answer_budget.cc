#include "net/http/answer_budget.h"

#include <algorithm>
#include <utility>

namespace porthole::net {

AnswerBudget::Share::Share(AnswerBudget* budget, Callback end) : budget_(budget), end_(std::move(end)) {
    if (budget_) place_ = budget_->shares_.insert(budget_->shares_.begin(), this);
}

void AnswerBudget::Share::leave() {
    if (!budget_) return;
    budget_->held_ -= bytes_;
    budget_->shares_.erase(place_);
    budget_ = nullptr;
}

void AnswerBudget::Share::add(std::size_t bytes) {
    const bool begins = bytes_.fetch_add(bytes) == 0;
    if (!budget_) return;
    if (begins) budget_->shares_.splice(budget_->shares_.end(), budget_->shares_, place_);
    budget_->held_ += bytes;
    if (budget_->held_ > budget_->limit_) budget_->end_largest();
}

void AnswerBudget::Share::remove(std::size_t bytes) {
    bytes_ -= bytes;
    if (budget_) budget_->held_ -= bytes;
}

void AnswerBudget::end_largest() {
    Share& largest = **std::ranges::max_element(shares_, {}, [](const Share* share) { return share->bytes(); });
    largest.leave();
    largest.end_();
}

}  // namespace porthole::net
