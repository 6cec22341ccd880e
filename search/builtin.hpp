#pragma once
// The tables of this folder's strategies, for strategies that combine others.

#include "hone/plugin.h"

namespace hone {

const hone_strategy* random_strategy();
const hone_strategy* local_search_strategy();
const hone_strategy* greedy_ils_strategy();
const hone_strategy* simulated_annealing_strategy();
const hone_strategy* dual_annealing_strategy();
const hone_strategy* genetic_algorithm_strategy();
const hone_strategy* differential_evolution_strategy();
const hone_strategy* particle_swarm_strategy();
const hone_strategy* reinforcement_strategy();

}  // namespace hone
