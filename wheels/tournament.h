/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which of many slots has the earliest key: a knock-out tournament. The slots
 * are the players; a match is won by the earlier key.
 *
 *	match 1			     slot 3			at tick 7
 *			   /		       \
 *	matches 2, 3    slot 0			slot 3
 *		       /      \		       /      \
 *	slots	    0: 12     1: -	    2: 40    3: 7
 *
 * A slot whose key changes plays its matches again, upwards, until one ends as
 * it did before with another slot: at most log2(slots) of them, and mostly one
 * or two. With it a wheel knows its next occupied slot whatever the distance,
 * even turns away, where a bitmap knows only those of this turn.
 *
 * Knows slots by number only.
 */
#ifndef _WHEEL_TOURNAMENT_H
#define _WHEEL_TOURNAMENT_H

#include <linux/log2.h>
#include <linux/types.h>
#include "exact.h"

/**
 * struct tournament - the tournament
 * @nr: number of players, a power of two: slots, and some that stay empty
 * @key: each slot's key, WHEEL_NEVER where it is empty
 * @winner: of each match from 1 on. Match m is played by the winners of 2m and
 *	2m + 1, numbers from @nr on being the slots themselves.
 */
struct tournament {
	u32 nr;
	u64 *key;
	u32 *winner;
};

/* Bytes of the two arrays, which the owner of a tournament provides. */
static inline size_t tournament_size(u32 slots)
{
	return (sizeof(u64) + sizeof(u32)) * roundup_pow_of_two(slots);
}

static inline u32 tournament_player(const struct tournament *t, u32 match)
{
	return match < t->nr ? t->winner[match] : match - t->nr;
}

/* Who wins match @match. */
static inline u32 tournament_play(const struct tournament *t, u32 match)
{
	u32 a = tournament_player(t, 2 * match);
	u32 b = tournament_player(t, 2 * match + 1);

	return exact_before(t->key[b], t->key[a]) ? b : a;
}

/* Begin with empty slots, two or more; @memory is zeroed. */
static inline void tournament_init(struct tournament *t, u32 slots,
				   void *memory)
{
	u32 match;

	t->nr = roundup_pow_of_two(slots);
	t->key = memory;
	t->winner = (u32 *)(t->key + t->nr);
	for (match = t->nr - 1; match; match--)
		t->winner[match] = tournament_play(t, match);
}

/* The slot with the earliest key, any one where all are empty. */
static inline u32 tournament_winner(const struct tournament *t)
{
	return t->winner[1];
}

static inline u64 tournament_key(const struct tournament *t)
{
	return t->key[tournament_winner(t)];
}

/* A slot's key is @key from now on. */
static inline void tournament_enter(struct tournament *t, u32 slot, u64 key)
{
	u32 match, winner;

	if (t->key[slot] == key)
		return;
	t->key[slot] = key;
	for (match = (t->nr + slot) / 2; match; match /= 2) {
		winner = tournament_play(t, match);
		if (winner != slot && winner == t->winner[match])
			return;
		t->winner[match] = winner;
	}
}

static inline bool tournament_occupied(const struct tournament *t, u32 match)
{
	return t->key[tournament_player(t, match)] != WHEEL_NEVER;
}

/* The first occupied slot from @slot on; @nr where there is none. */
static inline u32 tournament_next(const struct tournament *t, u32 slot)
{
	u32 match = t->nr + slot;

	if (slot >= t->nr)
		return t->nr;
	/* Up, as far as nothing further on has a key; then down to the first. */
	while (!tournament_occupied(t, match)) {
		while (match & 1)
			match /= 2;
		if (!match)
			return t->nr;
		match++;
	}
	while (match < t->nr) {
		match *= 2;
		if (!tournament_occupied(t, match))
			match++;
	}
	return match - t->nr;
}

#endif /* _WHEEL_TOURNAMENT_H */
