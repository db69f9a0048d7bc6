package commands

import (
	"testing"

	"github.com/stretchr/testify/require"

	"offrampbot/services/assets"
)

func TestSensitive_findsASecretHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	reg := assets.Default()
	tests := []struct {
		want Sensitive
		in   []string
	}{
		{PIN, []string{
			"PIN739164", "pin739164", "my pin739164", "mypin739164", "my pin is739164", "739164pin", "739164 is my pin", "pin:739164", "pin=739164", "pin/739164", "pin~739164",
			"pin_739164", "pin(739164)", "*PIN*739164", "PIN٧٣٩١٦٤", "pin ٧٣٩١٦٤", "٧٣٩١٦٤", "７３９１６４", "pin７３９１６４", "password1234", "OTP4829", "pin\n739164", "pin\u200b739164",
			"sell 50 usdt pin739164", "sell 50 usdt pin ٧٣٩١٦٤", "pin 73 91 64", "pin73 91 64", "balance pin739164", "PINis739164", "passcode1234.", "pin7391", "p.i.n 739164", "p i n 739164",
		}},
		{Account, []string{
			"sell 10 usdt to 2087654321 gtb", "sell 10 usdt to ٢٠٨٧٦٥٤٣٢١ gtb", "sell 10 usdt to ۲۰۸۷۶۵۴۳۲۱ gtb", "gtb2087654321", "2087654321gtb", "acct2087654321", "acct:2087654321",
			"gtb/2087654321", "2087654321/gtb", "gtb=2087654321", "gtb_2087654321", "(2087654321)", "(208) 765-4321", "208.765.4321", "208_765_4321", "208/765/4321", "2087\n654321",
			"balance 2087654321", "rate 50 usdt 2087654321", "sell 10 usdt 2087654321gtb", "status 2087654321", "2087654321,gtb", "2087654321.gtb",
		}},
		{Nothing, []string{
			"PIN", "i forgot my pin", "reset pin", "pin please, 50 usdt", "spin1234", "opinion 1234", "1234usdt", "50000naira", "N20000", "sell 20000ngn", "1000000000ngn", "N1000000000",
			"1000000000usdt", "₦1.000.000.000", "₦1,000,000,000", "1.000.000.000 naira", "sell 1234567890.50 usdt", "status 7F2K9QXDM", "sell 50usdt bep20",
			"0x2087654321aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
			"ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a1162087654321f523b3", "https://bscscan.com/tx/0xddf252ad2087654321c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
			"my pin and 0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "the rate 1500.50", "sell 50 usdt on base", "cancel AB12CD34X",
		}},
	}
	for _, tt := range tests {
		for _, in := range tt.in {
			require.Equal(t, tt.want, Parse(in, reg).Sensitive, "%q", in)
		}
	}
}

func TestSensitive_leavesACommandWithASecretTheCommand(t *testing.T) {
	t.Parallel()
	reg := assets.Default()
	require.Equal(t, Sell, Parse("sell 10 usdt to 2087654321 gtb", reg).Name)
	require.Equal(t, Balance, Parse("balance pin739164", reg).Name)
}
