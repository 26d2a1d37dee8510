//! Consumer groups: members, generations, sticky assignment, static members, eviction.
//!
//! More hostile than a real one: a partition may move as soon as its owner's client has heard of it, before the worker
//! has.

use std::collections::{BTreeMap, BTreeSet};

/// A member that was not heard of for so long is thrown out, in milliseconds.
pub const SESSION_TIMEOUT: i64 = 6_000;

struct Member {
    instance: Option<String>,
    heard: i64,
    owned: BTreeSet<i32>,
    target: BTreeSet<i32>,
}

/// One group as its coordinator knows it.
pub struct Group {
    generation: u32,
    next_member: u64,
    members: BTreeMap<u64, Member>,
    n_partitions: i32,
}

/// What a client knows of its membership.
#[derive(Clone, Debug, Default)]
pub struct Membership {
    /// Who it is; `None`: nobody yet.
    pub member: Option<u64>,
    /// The generation it heard of last.
    pub generation: u32,
    /// What it may read, as its client knows.
    pub assignment: BTreeSet<i32>,
    /// What came and went since the worker last asked.
    pub gained: BTreeSet<i32>,
    /// See above.
    pub lost: BTreeSet<i32>,
}

impl Membership {
    fn lose(&mut self, partitions: impl IntoIterator<Item = i32>) {
        for partition in partitions {
            self.assignment.remove(&partition);
            // Handed back before it was taken up: nothing to give up.
            if !self.gained.remove(&partition) {
                self.lost.insert(partition);
            }
        }
    }
}

impl Group {
    /// A group without members.
    pub fn new(n_partitions: i32) -> Self {
        Self { generation: 0, next_member: 1, members: BTreeMap::new(), n_partitions }
    }

    /// Whether a commit of this member in this generation is taken.
    pub fn accepts(&self, member: u64, generation: u32) -> bool {
        self.members.contains_key(&member) && self.generation == generation
    }

    /// The topic has another number of partitions.
    pub fn resize(&mut self, n_partitions: i32, now: i64) {
        self.n_partitions = n_partitions;
        self.rebalance(now);
    }

    /// Throws out whoever was not heard of.
    pub fn expire(&mut self, now: i64) {
        let before = self.members.len();
        self.members.retain(|_, member| now - member.heard <= SESSION_TIMEOUT);
        if self.members.len() != before {
            self.rebalance(now);
        }
    }

    /// A member leaves.
    pub fn leave(&mut self, member: u64, now: i64) {
        if self.members.remove(&member).is_some() {
            self.rebalance(now);
        }
    }

    fn join(&mut self, instance: Option<&str>, now: i64) -> u64 {
        let id = self.next_member;
        self.next_member += 1;
        let same = instance.and_then(|name| {
            self.members
                .iter()
                .find(|(_, one)| one.instance.as_deref() == Some(name))
                .map(|(id, _)| *id)
        });
        // A static member that comes back takes its old place at once, and the old one is refused from now on.
        let (target, is_new) = match same.and_then(|old| self.members.remove(&old)) {
            Some(old) => (old.target, false),
            None => (BTreeSet::new(), true),
        };
        let member = Member {
            instance: instance.map(str::to_owned),
            heard: now,
            owned: BTreeSet::new(),
            target,
        };
        self.members.insert(id, member);
        if is_new {
            self.rebalance(now);
        }
        id
    }

    /// A new generation: what a member has stays with it unless others have too little.
    fn rebalance(&mut self, _now: i64) {
        self.generation += 1;
        if self.members.is_empty() {
            return;
        }
        let most = (self.n_partitions as usize).div_ceil(self.members.len());
        let mut free: BTreeSet<i32> = (0..self.n_partitions).collect();
        for member in self.members.values_mut() {
            member.target =
                member.target.iter().copied().filter(|one| free.contains(one)).take(most).collect();
            for partition in &member.target {
                free.remove(partition);
            }
        }
        for partition in free {
            let least = self.members.values_mut().min_by_key(|member| member.target.len());
            least.expect("there are members").target.insert(partition);
        }
    }

    /// A client is heard of: it joins if it has to, and learns the generation and what it may read.
    pub fn heartbeat(&mut self, client: &mut Membership, instance: Option<&str>, now: i64) {
        let known = client.member.filter(|id| self.members.contains_key(id));
        let id = known.unwrap_or_else(|| {
            let all: Vec<i32> = client.assignment.iter().copied().collect();
            client.lose(all);
            self.join(instance, now)
        });
        client.member = Some(id);
        client.generation = self.generation;
        let taken: BTreeSet<i32> = self
            .members
            .iter()
            .filter(|(other, _)| **other != id)
            .flat_map(|(_, member)| member.owned.iter().copied())
            .collect();
        let member = self.members.get_mut(&id).expect("known or joined");
        member.heard = now;
        let revoked: Vec<i32> = client.assignment.difference(&member.target).copied().collect();
        client.lose(revoked);
        for partition in member.target.iter().copied().filter(|one| !taken.contains(one)) {
            if client.assignment.insert(partition) {
                client.gained.insert(partition);
            }
        }
        member.owned = client.assignment.clone();
    }
}
