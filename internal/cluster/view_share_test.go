package cluster_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/cluster"
)

func TestQueryShare(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		routers int
		slots   []int
		want    int
	}{
		{1, []int{8}, 8},
		{1, []int{8, 4}, 12},
		{3, []int{8}, 2},
		{3, []int{8, 8}, 5},
		{3, []int{1}, 1},
		{2, nil, 1},
		{0, []int{8}, 8},
		{1, []int{0, 4}, 5},
	} {
		var listed []cluster.Listed
		add := func(n cluster.Node) { listed = append(listed, cluster.Listed{Node: n, Active: n.Roles}) }
		for i := range x.routers {
			add(cluster.Node{ID: fmt.Sprint("r", i), Roles: []cluster.Role{cluster.RoleRouter}})
		}
		for i, n := range x.slots {
			add(cluster.Node{ID: fmt.Sprint("q", i), Roles: []cluster.Role{cluster.RoleQuerier}, QuerySlots: n})
		}
		require.Equal(t, x.want, cluster.NewView(1, cluster.Algo, listed).QueryShare(), "%+v", x)
	}
}
