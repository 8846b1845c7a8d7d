#include "apiserver/admission/admission_evaluation.h"

#include "apiserver/admission/admission_fixture.h"

namespace porthole::apiserver {
namespace {

class AdmissionEvaluationTest : public AdmissionTest {
protected:
    AdmissionEvaluationTest() { given_.pool = &pool_; }

    /// Uses what a policy may cost, by costs or by work alone. Yields what each attempt was given; the last one could not be paid where
    /// `is_spent_`.
    std::vector<std::uint64_t> spend(AdmissionEvaluation& evaluation, bool by_work = false) {
        std::vector<std::uint64_t> rooms;
        EXPECT_TRUE(run(evaluation.run([&](AdmissionEvaluation::Attempt& attempt) {
            CostBudget budget = attempt.budget(expression_costs::Policy);
            rooms.push_back(budget.left);
            is_spent_ = budget.is_spent = budget.left < expression_costs::Policy;
            if (by_work)
                budget.work().look(budget.left * cel::EvaluateOptions::WorkInUnit);
            else
                budget.left = 0;
            attempt.paid(budget, expression_costs::Policy);
        })));
        return rooms;
    }

    AdmissionAttributes attributes_{
        .kind = api::core::v1::ConfigMap::kind(), .user = user_, .warnings = warnings_, .audit_annotations = audit_};
    bool is_spent_ = false;
};

TEST_F(AdmissionEvaluationTest, AllExpressionsOfARunAreBounded) {
    AdmissionEvaluation evaluation(given_, attributes_);
    const std::vector<std::uint64_t> cheap_first = {20'000, expression_costs::Policy}, pool_only = {expression_costs::Policy}, none = {0};
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(spend(evaluation), i < 5 ? cheap_first : pool_only) << i;
        EXPECT_FALSE(is_spent_) << i;
    }
    EXPECT_EQ(spend(evaluation), none);
    EXPECT_TRUE(is_spent_);
}

TEST_F(AdmissionEvaluationTest, WorkCountsWhereItIsMoreThanTheCost) {
    AdmissionEvaluation evaluation(given_, attributes_);
    for (int i = 0; i < 10; ++i) spend(evaluation, true);
    EXPECT_EQ(spend(evaluation), std::vector<std::uint64_t>{0});
}

}  // namespace
}  // namespace porthole::apiserver
